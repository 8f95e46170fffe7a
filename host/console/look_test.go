package console

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
)

// slow is a host that answers when it is told to, or never.
type slow struct {
	operator.Control
	asked  atomic.Int32
	answer chan struct{}
	hangs  bool // it hears of no deadline
}

func newSlow() (*overviews, *slow) {
	s := &slow{Control: &control{name: "x"}, answer: make(chan struct{})}
	return &overviews{control: s}, s
}

// Status is the first question of an Overview.
func (s *slow) Status(ctx context.Context) (operator.Status, error) {
	s.asked.Add(1)
	done := ctx.Done()
	if s.hangs {
		done = nil
	}
	select {
	case <-s.answer:
		return operator.Status{}, nil
	case <-done:
		return operator.Status{}, ctx.Err()
	}
}

// The question to the host was one browser's request: if that browser closed, everybody
// who waited for the answer got an error.
func TestAClosedBrowserFailedTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, host := newSlow()
		closing, closeBrowser := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := o.get(closing); !errors.Is(err, context.Canceled) {
				t.Errorf("the browser that closed got %v", err)
			}
		})
		synctest.Wait()
		for range 5 {
			all.Go(func() {
				if body, err := o.get(t.Context()); err != nil || len(body) == 0 {
					t.Errorf("another browser got %v", err)
				}
			})
		}
		synctest.Wait()
		closeBrowser()
		synctest.Wait()
		close(host.answer)
		all.Wait()
		if host.asked.Load() != 1 {
			t.Errorf("the host was asked %d times", host.asked.Load())
		}
	})
}

// Readers held one lock in turn, each for as long as the host took: the tenth waited for
// 100 seconds.
func TestReadersOfASlowHostQueuedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, host := newSlow()
		start := time.Now()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := o.get(t.Context()); !errors.Is(err, errSlow) {
					t.Errorf("got %v", err)
				}
				if took := time.Since(start); took > lookTime {
					t.Errorf("waited for %v", took)
				}
			})
		}
		all.Wait()
		o.end(time.Hour)
		if host.asked.Load() != 1 {
			t.Errorf("the host was asked %d times", host.asked.Load())
		}
	})
}

// A host that hangs in the kernel hears of no deadline. It is not asked again meanwhile.
func TestAHostThatHangsIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, host := newSlow()
		host.hangs = true
		for range 3 {
			if _, err := o.get(t.Context()); !errors.Is(err, errSlow) {
				t.Errorf("got %v", err)
			}
		}
		start := time.Now()
		o.end(5 * time.Second)
		if host.asked.Load() != 1 || time.Since(start) != 5*time.Second {
			t.Errorf("asked %d times; the end took %v", host.asked.Load(), time.Since(start))
		}
		close(host.answer)
		o.end(time.Hour)
	})
}

// What was shown after an action could be of before it, with its buttons.
func TestAfterAnActionThePageShowedWhatWasBefore(t *testing.T) {
	c := &control{name: "x"}
	page := open(t, c)
	key := keyIn(t, ask(page, "POST", "/sign-in", "", tokenOf(page)))
	looks := func() int {
		if w := ask(page, "GET", "/v1/overview", key, ""); w.Code != http.StatusOK {
			t.Fatalf("%d, %s", w.Code, w.Body)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.looks
	}
	before := looks()
	ask(page, "POST", "/v1/retry", key, `"x"`)
	if after := looks(); after <= before {
		t.Error("the host was not asked after the action")
	}
	synctest.Test(t, func(t *testing.T) {
		o, host := newSlow()
		done := make(chan error, 1)
		go func() { _, err := o.get(t.Context()); done <- err }()
		synctest.Wait()
		o.outdate() // while the host answers
		host.answer <- struct{}{}
		synctest.Wait()
		host.answer <- struct{}{}
		if err := <-done; err != nil || host.asked.Load() != 2 {
			t.Errorf("asked %d times, %v", host.asked.Load(), err)
		}
	})
}
