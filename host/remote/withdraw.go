package remote

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/ipc"
)

// withdrawTimeout is how long a withdrawal looks for a result that says that the host has
// recorded the request in the instant in which it was unlinked.
const withdrawTimeout = time.Second

// withdraw answers a call that takes a delivery back.
func (d *Server) withdraw(rw http.ResponseWriter, r *http.Request, who source, id string) error {
	last, done, err := d.takeBack(r.Context(), who, id)
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

// takeBack takes a delivery out of the queue that is not accepted yet. Without done, last
// is what became of it.
func (d *Server) takeBack(ctx context.Context, who source, id string) (last ipc.Result, done bool, err error) {
	defer d.turns.take(who, id)() // or a repeated call would submit it again meanwhile
	c, err := d.find(ctx, who, id)
	if err != nil {
		return last, false, err
	}
	if c.withdrawn {
		return last, false, errWithdrawn
	}
	done, err = d.Spool.Withdraw(who.folder, id)
	if err != nil {
		return ipc.Result{}, false, err
	}
	last = d.status(who.folder, c)
	if done {
		last = d.awaitTaken(ctx, who.folder, last)
	}
	if !done || last.Channel != "" || last.Status.Final() {
		return last, false, nil
	}
	return last, true, errors.Join(d.markWithdrawn(context.WithoutCancel(ctx), id), d.release(who.folder, id))
}

// awaitTaken waits a moment for a result that says that the host has a delivery.
func (d *Server) awaitTaken(ctx context.Context, folder string, last ipc.Result) ipc.Result {
	over := time.NewTimer(withdrawTimeout)
	defer over.Stop()
	for {
		told := d.Spool.Told(folder)
		if r, ok := d.Spool.Result(folder, last.ID); ok {
			last = r
		}
		if last.Channel != "" || last.Status.Final() {
			return last
		}
		select {
		case <-told:
		case <-over.C:
			return last
		case <-ctx.Done(): // its answer is lost; the withdrawal is not
			ctx = context.WithoutCancel(ctx)
		}
	}
}
