package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

// explain says of each decision about a file how it would go. Nothing is
// copied, recorded or sent; a running host is only asked how it is.
func (e *env) explain(ctx context.Context, c *groups.Config, g groups.Group, call operator.Send) error {
	steps, err := e.decide(ctx, c, g, call)
	if e.json {
		if err := e.printJSON(map[string]any{"accepted": err == nil, "steps": steps}); err != nil {
			return err
		}
	} else if err := e.printSteps(steps); err != nil {
		return err
	}
	if err != nil {
		return refusedSend(err)
	}
	if !e.json {
		e.say("would be accepted")
	}
	return nil
}

func (e *env) printSteps(steps []groups.Step) error {
	t := e.table()
	for _, s := range steps {
		mark := "ok"
		if !s.OK {
			mark = "no"
		}
		t.row(mark, s.Name, s.Words)
	}
	return t.flush()
}

// decisions collects steps until one goes wrong.
type decisions struct{ steps []groups.Step }

func (d *decisions) good(name, format string, args ...any) {
	d.steps = append(d.steps, groups.Step{Name: name, OK: true, Words: fmt.Sprintf(format, args...)})
}

func (d *decisions) bad(name string, err error) ([]groups.Step, error) {
	words := err.Error()
	var re refuser
	if errors.As(err, &re) {
		code, message, hint := re.Refusal()
		words = fmt.Sprintf("%s (%s): %s", message, code, hint)
	}
	return append(d.steps, groups.Step{Name: name, Words: words}), err
}

// decide goes the bridge's way without its outbox.
func (e *env) decide(ctx context.Context, c *groups.Config, g groups.Group, call operator.Send) ([]groups.Step, error) {
	var d decisions
	main := ""
	if g.Main {
		main = ", the main group"
	}
	d.good("group", "%s (%s)%s", g.Folder, g.Name, main)
	f, err := openFor(c, g, call.Path, &d)
	if err != nil {
		return d.steps, err
	}
	defer f.Close()
	info, err := look(f, call)
	if err != nil {
		return d.bad("type", err)
	}
	words := fmt.Sprintf("%s, sent as %s under the name %q", info.MIME, info.Kind, info.Name)
	if info.Note != "" {
		words += ": " + info.Note
	}
	d.good("type", "%s", words)
	for _, ch := range offlineChannels(c) {
		if !ch.Owns(g.Chat) {
			continue
		}
		d.good("channel", "%s carries %s", ch.Name(), g.Chat)
		limits := ch.Limits().Tighten(g.Limits)
		fitted, err := limits.Fit(ch.Name(), info)
		if err != nil {
			return d.bad("limit", err)
		}
		info = fitted
		d.good("limit", "%s of at most %s for a %s", bytesText(info.Size), bytesText(limits.Kinds[info.Kind].Bytes), info.Kind)
		d.good("caption", "%s", captionWords(limits.Kinds[info.Kind].Caption, call.Caption))
		d.good("host", "%s", e.hostWords(ctx, c, ch.Name()))
		return d.steps, nil
	}
	return d.bad("channel", usage(fmt.Sprintf("no configured channel carries %q", string(g.Chat)), "turn the chat's channel on under channels:"))
}

// openFor opens the file as the bridge would and notes each step.
func openFor(c *groups.Config, g groups.Group, name string, d *decisions) (*os.File, error) {
	if !inContainer(name) {
		f, err := bridge.OpenOwn(name)
		if err != nil {
			d.steps, err = d.bad("file", err)
			return nil, err
		}
		d.good("file", "%s, a file of your own", name)
		return f, nil
	}
	mounts, err := groups.NewMountMap(c.Layout(), g)
	if err != nil {
		d.steps, err = d.bad("mount", err)
		return nil, err
	}
	defer mounts.Close()
	d.steps = append(d.steps, mounts.Explain(name)...)
	f, err := mounts.Open(name)
	if err != nil {
		return nil, err
	}
	return f.File, nil
}

// look says what an open file is.
func look(f *os.File, call operator.Send) (media.Info, error) {
	stat, err := f.Stat()
	if err != nil {
		return media.Info{}, fmt.Errorf("look at the file: %w", err)
	}
	head := make([]byte, min(stat.Size(), media.HeadSize))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return media.Info{}, fmt.Errorf("read the file: %w", err)
	}
	name := call.Name
	if name == "" {
		name = path.Base(call.Path)
	}
	return media.Classify(name, "", head[:n], stat.Size(), media.Style(call.As))
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

// hostWords says whether the file would go out now.
func (e *env) hostWords(ctx context.Context, c *groups.Config, channel string) string {
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
