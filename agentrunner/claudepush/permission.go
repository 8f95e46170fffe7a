package claudepush

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

const (
	answerIn  = 10 * time.Minute // then the answer is no, whatever the host says
	maxAsked  = 4                // questions at once
	retryHost = 2 * time.Second
)

// requestID is the form of a question's id: five letters without l.
var requestID = regexp.MustCompile(`^[a-km-z]{5}$`)

// relay has the host ask members whether the session may use a tool.
type relay struct {
	host   Host
	log    *slog.Logger
	notify func(method string, params map[string]any) error

	mu   sync.Mutex
	open map[string]bool // by id
}

// question is the session's.
type question struct {
	id string
	ipc.Permission
}

// begin reads a question. ok is false if it is malformed or known, or one too many: then
// the session's own dialog decides.
func (r *relay) begin(fields map[string]any) (q question, ok bool) {
	words := func(name string, most int) string {
		s, _ := fields[name].(string)
		return media.Cut(s, most)
	}
	q.id, _ = fields["request_id"].(string)
	q.Tool, q.Description, q.Input = words("tool_name", 64), words("description", 500), words("input_preview", 1000)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !requestID.MatchString(q.id) || q.Tool == "" || r.open[q.id] || len(r.open) >= maxAsked {
		r.log.Warn("question of the session not passed on")
		return q, false
	}
	r.open[q.id] = true
	return q, true
}

// ask passes on a question and its answer. Without an answer in time it is no. If the host
// asks nobody, the session hears nothing, and its own dialog stays open.
func (r *relay) ask(ctx context.Context, q question) {
	defer r.end(q.id)
	session := ctx
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	asked, err := r.host.AskPermission(ctx, q.Permission)
	if err != nil {
		r.log.Warn("nobody was asked for a permission", "error", err)
		return
	}
	answer := r.wait(ctx, asked.ID)
	if answer == "" && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return // the session has ended
	}
	if answer != ipc.Allowed {
		answer = ipc.Denied
	}
	for r.notify(notifyAnswer, map[string]any{"request_id": q.id, "behavior": answer}) != nil { // the client reads too slowly
		if !wake.Sleep(session, crowded) {
			return
		}
	}
}

func (r *relay) end(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, id)
}

// wait returns the answer; empty if ctx has ended.
func (r *relay) wait(ctx context.Context, id string) string {
	for ctx.Err() == nil {
		asked := time.Now()
		p, err := r.host.Permission(ctx, id, fetchWait)
		switch {
		case err == nil && p.Answer != "":
			return p.Answer
		case codeOf(err) == "unknown_permission": // it is long ago
			return ipc.Denied
		case err != nil:
			wake.Sleep(ctx, retryHost)
		default:
			rest(ctx, asked)
		}
	}
	return ""
}
