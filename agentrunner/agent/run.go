package agent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/ipc"
)

// Options are the settings of Run.
type Options struct {
	Agent Agent
	IPC   string       // the group's queue in this process
	Log   *slog.Logger // nil means discard

	// The host wrote Listen into the addresses of its models, and they are reached at
	// Model: a port of 0 became another. Both empty: the addresses stay.
	Listen, Model string
}

// Run holds one conversation. It reads the start document from stdin and takes turns
// until the host closes the conversation or ctx ends; neither is an error. If a turn
// fails, Run reports the error to the host and returns it, as v1's runner does:
// waiting follow-ups stay in input/ for the next run. Follow-ups that arrive
// together with _close get a last turn, since nobody else would read them.
func Run(ctx context.Context, stdin io.Reader, stdout io.Writer, o Options) error {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s, err := readStart(stdin)
	if err != nil {
		return err
	}
	s.move(o.Listen, o.Model)
	c := &conversation{agent: o.Agent, client: ipc.NewClient(o.IPC), stdout: stdout, taken: []string{}}
	if err := c.client.ClearClose(); err != nil {
		return fmt.Errorf("delete an old close mark: %w", err)
	}
	turn := Turn{Prompt: s.opening(), Session: s.Session, Env: s.env(), Say: c.say, Used: c.use}
	if s.Trouble {
		turn.Trouble = c.trouble
	}
	for closed := false; ; {
		reply, err := c.turn(ctx, turn)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			o.Log.Error("turn failed", "group", s.Folder, "error", err)
			if err := c.tell(output{Status: "error", Session: turn.Session, Error: cut(err.Error()), Cause: cause.Of(err)}); err != nil {
				return err
			}
			return fmt.Errorf("turn: %w", err)
		}
		turn.Session = reply.Session
		if err := c.say(reply); err != nil {
			return err
		}
		if closed {
			return nil
		}
		turn.Prompt, closed, err = c.next(ctx)
		if ctx.Err() != nil || (err == nil && turn.Prompt == "") {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read follow-ups: %w", err)
		}
	}
}
