package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/operator"
)

const (
	overviewAge = time.Second      // how old an Overview may be that is shown
	lookTime    = 10 * time.Second // how long the host may take for one
)

// overviews has the latest Overview, so that many open pages ask the host once a second,
// and one page at a time: those who come meanwhile wait for the same answer. The question
// belongs to no request, so a browser that closes fails no other.
type overviews struct {
	control operator.Control

	mu       sync.Mutex
	at       time.Time
	body     json.RawMessage // nil: none, or it is of before an action
	question *question       // nil: the host is not being asked
}

// question is one look at the host. done is closed once body and err are there.
type question struct {
	done  chan struct{}
	stale bool // an action came after the question; overviews.mu guards it
	body  json.RawMessage
	err   error
}

var errSlow = errors.New("the host takes longer than 10 seconds to say how it is")

// get returns an Overview of at most overviewAge ago, as JSON. It waits no longer than
// lookTime. A question from before an operator's last action does not count.
func (o *overviews) get(ctx context.Context) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookTime, errSlow)
	defer cancel()
	for {
		body, ask := o.begin()
		if body != nil {
			return body, nil
		}
		select {
		case <-ask.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		o.mu.Lock()
		stale := ask.stale
		o.mu.Unlock()
		if !stale {
			return ask.body, ask.err
		}
	}
}

// begin returns the latest answer if it is new enough, or else the question that is under
// way. There is one at a time, also if the host does not answer it.
func (o *overviews) begin() (json.RawMessage, *question) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.body != nil && time.Since(o.at) < overviewAge {
		return o.body, nil
	}
	if o.question == nil {
		o.question = &question{done: make(chan struct{})}
		go o.ask(o.question)
	}
	return nil, o.question
}

// ask puts one question to the host.
func (o *overviews) ask(a *question) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lookTime, errSlow)
	defer cancel()
	now, err := operator.Look(ctx, o.control)
	if err == nil {
		a.body, err = json.Marshal(now)
	}
	if a.err = err; err != nil && ctx.Err() != nil {
		a.err = context.Cause(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.question = nil; err == nil && !a.stale {
		o.at, o.body = time.Now(), a.body
	}
	close(a.done)
}

// outdate has the next get ask the host: an operator has done something since.
func (o *overviews) outdate() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.body = nil
	if o.question != nil {
		o.question.stale = true
	}
}

// end waits until no question is under way, at most for a while.
func (o *overviews) end(timeout time.Duration) {
	o.mu.Lock()
	last := o.question
	o.mu.Unlock()
	if last == nil {
		return
	}
	select {
	case <-last.done:
	case <-time.After(timeout):
	}
}

func (c *Console) overview(w http.ResponseWriter, r *http.Request) {
	body, err := c.overviews.get(r.Context())
	if err != nil {
		c.o.Log.Warn("look at the host for the operator's page", "error", err)
		httpd.Fail(w, httpd.Refuse(http.StatusServiceUnavailable, operator.CodeUnwell, err.Error(), "wait, if the machine is busy; otherwise restart the host: what was accepted is kept"))
		return
	}
	httpd.Answer(w, http.StatusOK, body)
}
