package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// withControl calls do with the Control of the host that runs, or, where none
// does, with one of this process over the outbox, whose lock keeps a host from
// starting meanwhile.
func (e *env) withControl(ctx context.Context, do func(operator.Control) error) error {
	c, err := e.load()
	if err != nil {
		return err
	}
	client := operator.NewClient(operator.ControlDir(c.Layout()))
	health := client.Health(ctx)
	if errors.Is(health, operator.ErrDenied) {
		return hinted(health, asOwner)
	}
	if !errors.Is(health, operator.ErrNoHost) {
		return do(client) // it answers; that it may not be well is for status to say
	}
	if _, err := os.Stat(filepath.Join(c.Layout().Outbox(), "outbox.db")); errors.Is(err, fs.ErrNotExist) {
		// Looking at an installation that was never used makes nothing.
		return do(&unused{operator.NewDesk(deskOptions(c)), e, c})
	}
	return e.withDesk(ctx, c, func(d *operator.Desk) error { return do(d) })
}

// withAccounts calls do with the Control of the host that runs, or, where none
// does, with one that has nothing but the channels' accounts.
func (e *env) withAccounts(ctx context.Context, cfg *groups.Config, do func(operator.Control) error) error {
	client := operator.NewClient(operator.ControlDir(cfg.Layout()))
	health := client.Health(ctx)
	if errors.Is(health, operator.ErrDenied) {
		return hinted(health, asOwner)
	}
	if !errors.Is(health, operator.ErrNoHost) {
		return do(client)
	}
	desk := operator.NewDesk(operator.DeskOptions{})
	if cfg.Channels.WhatsApp != nil {
		w, err := newWhatsApp(cfg, newLog(e.stderr, groups.Log{Level: "warn"}), e.whatsapp)
		if err != nil {
			return err
		}
		desk.Channels = []channel.Channel{w}
	}
	return do(desk)
}

// withDesk opens what a host would open, with channels that send nothing.
func (e *env) withDesk(ctx context.Context, c *groups.Config, do func(*operator.Desk) error) (err error) {
	h, err := newHost(ctx, c, hostOptions{
		log: slog.New(slog.DiscardHandler), idle: true,
		channels: func(c *groups.Config, _ *groups.Registry, _ hostOptions) ([]channel.Channel, error) {
			return offlineChannels(c), nil
		},
	})
	if errors.Is(err, outbox.ErrLocked) {
		return hinted(errors.New("the outbox is in use, and whoever uses it answers no control socket"), "wait until the host has started or the other command has ended; see: longshore doctor")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	return do(h.desk(false))
}

// unused is the Control of an installation that has no outbox yet. Only Send
// makes one.
type unused struct {
	*operator.Desk
	env    *env
	config *groups.Config
}

func (u *unused) Send(ctx context.Context, s operator.Send) (item operator.Item, err error) {
	err = u.env.withDesk(ctx, u.config, func(d *operator.Desk) error {
		item, err = d.Send(ctx, s)
		return err
	})
	return item, err
}

func deskOptions(c *groups.Config) operator.DeskOptions {
	return operator.DeskOptions{Layout: c.Layout(), Groups: c.Groups, Version: readVersion().Version}
}

// desk is what the operator gets to see of h. running says that h runs, and
// does not only lend its outbox to a command.
func (h *host) desk(running bool) *operator.Desk {
	o := deskOptions(h.config)
	o.Outbox, o.Channels, o.Offer = h.outbox, h.channels, h.offer
	o.Running, o.Started = running, h.started
	if running {
		o.Assistants = h.assistantsNow
	}
	return operator.NewDesk(o)
}

// offer accepts a file of the operator's for a group's chat: a container's
// path as its assistant would, another as the operator's own.
func (h *host) offer(ctx context.Context, s operator.Send) (outbox.Delivery, error) {
	open := bridge.OpenOwn
	if inContainer(s.Path) {
		open = h.bridge.Mounted(s.Group)
	}
	return h.bridge.Offer(ctx, s.Group, fileRequest(s), open)
}

// fileRequest is the request that an assistant would write.
func fileRequest(s operator.Send) ipc.Request {
	return ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: s.Path, Name: s.Name, Caption: s.Caption, As: s.As}}}
}

// assistantsNow describes the assistants that have something to do.
func (h *host) assistantsNow() []operator.Assistant {
	var all []operator.Assistant
	for _, s := range h.assistants.Status() {
		if s.State == "idle" && s.LastError == "" {
			continue
		}
		a := operator.Assistant{Group: s.Folder, State: s.State, Started: s.Since}
		switch {
		case s.LastError != "":
			a.Detail = fmt.Sprintf("%s broke in a row, the last with: %s", count(s.Failures, "turn"), s.LastError)
		case s.Kept > 0:
			a.Detail = count(s.Kept, "message") + " to hand over"
		}
		all = append(all, a)
	}
	return all
}

// ofControl gives an answer of the host its exit code and its hint.
func ofControl(err error) error {
	if oe, ok := errors.AsType[*operator.Error](err); ok {
		return hinted(errors.New(oe.Message), oe.Hint)
	}
	return err
}

// doctorFor is the doctor for a configuration that could be read.
func doctorFor(c *groups.Config) operator.Doctor {
	d := operator.Doctor{Layout: c.Layout(), Groups: c.Groups, Commands: map[string]string{}}
	if w := c.Channels.Web; w != nil {
		d.Web = operator.Web{Listen: w.Listen, Token: w.Token.Reveal(), Unset: w.Token.Unset()}
	}
	for name, a := range c.Assistants {
		switch {
		case a.Runtime == "docker": // its programs are in its image
		case a.Agent == "command" && len(a.Command) > 0:
			d.Commands[name] = a.Command[0]
		case a.Agent != "sample" && a.Agent != "command":
			d.Commands[name] = a.Agent
		}
	}
	return d
}
