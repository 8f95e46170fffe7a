package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

// cancelWait is how long a cancellation waits for a result by which the host has
// recorded the request in the instant in which it was unlinked.
const cancelWait = time.Second

// cancel answers a call that cancels a delivery.
func (s *Server) cancel(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	last, done, err := s.cancelDelivery(r.Context(), who, r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case !done:
		httpd.Answer(rw, http.StatusConflict, last)
	default:
		rw.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// cancelDelivery takes a delivery that is not accepted yet out of the queue. Without done, last
// is what became of it.
func (s *Server) cancelDelivery(ctx context.Context, who tokens.Identity, id string) (last ipc.Result, done bool, err error) {
	defer s.calls.Lock(who, id)() // or a repeated call would submit it again meanwhile
	c, err := s.calls.Find(ctx, who, id)
	if err != nil {
		return last, false, err
	}
	if c.Cancelled {
		return last, false, errCancelled
	}
	done, err = s.Spool.Withdraw(who.Folder, id)
	if err != nil {
		return ipc.Result{}, false, err
	}
	last = s.status(who.Folder, c)
	if done {
		last = s.awaitTaken(ctx, who.Folder, last)
	}
	if !done || last.Channel != "" || last.Status.Final() {
		return last, false, nil
	}
	return last, true, errors.Join(s.calls.Cancel(context.WithoutCancel(ctx), id), s.release(who.Folder, id))
}

// awaitTaken waits a moment for a result by which the host has a delivery.
func (s *Server) awaitTaken(ctx context.Context, folder string, last ipc.Result) ipc.Result {
	over := time.After(cancelWait)
	for {
		told := s.Spool.Told(folder)
		if r, ok := s.Spool.Result(folder, last.ID); ok {
			last = r
		}
		if last.Channel != "" || last.Status.Final() {
			return last
		}
		select {
		case <-told:
		case <-over:
			return last
		case <-ctx.Done(): // its answer is lost; the withdrawal is not
			ctx = context.WithoutCancel(ctx)
		}
	}
}
