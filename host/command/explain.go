package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/media"
)

// explain prints the outcome of each decision about a file. It copies, records and sends nothing, and
// only asks a running host for its status.
func (e *env) explain(ctx context.Context, c *config.Config, g groups.Group, call operator.Send) error {
	steps, err := e.decide(ctx, c, g, call)
	if err := e.Answer(map[string]any{"accepted": err == nil, "steps": steps}, func() error { return e.printSteps(steps) }); err != nil {
		return err
	}
	if err != nil {
		return refusedSend(err)
	}
	if !e.JSON {
		e.Say("would be accepted")
	}
	return nil
}

func (e *env) printSteps(steps []mounts.Step) error {
	t := e.Table()
	for _, s := range steps {
		mark := "ok"
		if !s.OK {
			mark = "no"
		}
		t.Row(mark, s.Name, s.Words)
	}
	return t.Flush()
}

// decisions collects the steps up to the first that goes wrong.
type decisions struct{ steps []mounts.Step }

func (d *decisions) good(name, format string, args ...any) {
	d.steps = append(d.steps, mounts.Step{Name: name, OK: true, Words: fmt.Sprintf(format, args...)})
}

// bad adds the step that went wrong, unless it is there already.
func (d *decisions) bad(name string, err error) {
	if n := len(d.steps); n > 0 && !d.steps[n-1].OK {
		return
	}
	words := err.Error()
	if r := bridge.AsRefusal(err); r != nil {
		words = fmt.Sprintf("%s (%s): %s", r.Message, r.Code, r.Hint)
	}
	d.steps = append(d.steps, mounts.Step{Name: name, Words: words})
}

// decide examines the file with a bridge that has no outbox, and returns each result as a step.
func (e *env) decide(ctx context.Context, c *config.Config, g groups.Group, call operator.Send) ([]mounts.Step, error) {
	now, err := live.New(c, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = now.CloseBut(nil) }()
	var current live.Current
	current.Set(now)
	b := bridge.New(bridge.Options{Settings: &current, Channels: serve.OfflineChannels(c)})
	var d, opening decisions
	main := ""
	if g.Main {
		main = ", the main group"
	}
	d.good("group", "%s (%s)%s", g.Folder, g.Name, main)
	found, err := b.Examine(g.Folder, serve.FileRequest(call), opening.opener(call.Path, now.Mounts(g.Folder)))
	if found.Channel == "" {
		d.bad("channel", err)
		return d.steps, err
	}
	d.good("channel", "%s carries %s", found.Channel, found.Chat)
	d.steps = append(d.steps, opening.steps...)
	d.tell(found, call.Caption, err)
	if err == nil {
		d.good("host", "%s", e.hostWords(ctx, c, found.Channel))
	}
	return d.steps, err
}

// opener returns what opens the file as the bridge would, and notes each step.
func (d *decisions) opener(name string, seen *mounts.Map) bridge.Opener {
	if mounts.InContainer(name) {
		return func(name string) (*mounts.File, error) {
			f, steps, err := seen.Explain(name)
			d.steps = append(d.steps, steps...)
			return f, err
		}
	}
	return func(name string) (*mounts.File, error) {
		f, err := bridge.OpenOwn(name)
		if err != nil {
			d.bad("file", err)
			return f, err
		}
		d.good("file", "%s, a file of your own", name)
		return f, nil
	}
}

// tell adds steps for the file's properties, or the step that refused the file.
func (d *decisions) tell(found bridge.Finding, caption string, err error) {
	if len(found.Files) == 0 {
		d.bad("type", err)
		return
	}
	info := found.Files[0]
	words := fmt.Sprintf("%s, sent as %s under the name %q", info.MIME, info.Kind, info.Name)
	if info.Note != "" {
		words += ": " + info.Note
	}
	d.good("type", "%s", words)
	if err != nil {
		d.bad("limit", err)
		return
	}
	limit := found.Limits.Kinds[info.Kind]
	d.good("limit", "%s of at most %s for a %s", media.Size(info.Size), media.Size(limit.Bytes), info.Kind)
	d.good("caption", "%s", captionWords(limit.Caption, caption))
}

func captionWords(limit int, caption string) string {
	n := len([]rune(caption))
	switch {
	case n == 0:
		return "none"
	case n > limit:
		return fmt.Sprintf("%d characters, of which the channel attaches %d: sent as a message of its own", n, limit)
	}
	return fmt.Sprintf("%d characters of at most %d", n, limit)
}

// hostWords says whether the host would send the file now.
func (e *env) hostWords(ctx context.Context, c *config.Config, channel string) string {
	status, err := operator.NewClient(operator.ControlDir(c.Layout())).Status(ctx)
	if errors.Is(err, operator.ErrNoHost) {
		return "no host is running: it would be kept until one does"
	}
	if err != nil {
		return err.Error()
	}
	for _, ch := range status.Channels {
		if ch.Name == channel && !ch.Connected {
			return fmt.Sprintf("running, and %s is not connected (%s): it would be kept", channel, ch.Detail)
		}
	}
	return "running: it would go out at once"
}
