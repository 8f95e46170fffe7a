// Package serve opens the parts of a host and runs them. It says which part
// gets what, and decides nothing itself.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/console"
	"github.com/longshore-bridge/longshore/host/links"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/notify"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/remote"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media/convert"
)

// Options is what a host needs beside its configuration.
type Options struct {
	Log     *slog.Logger
	Version string                             // of the program
	Trace   func(folder, request, step string) // may be nil
	Ready   func(signIn string)                // called with an address of the operator's page, once that listens; may be nil

	// Load reads and checks the configuration again, for Reload: all that is
	// wrong with it, or an error of a file that could not be read.
	Load func() (*config.Config, []*config.Problem, error)

	// Add writes one more group into the configuration's file, unless a host could not
	// start with it: then it returns what is wrong. undo writes the file as it was.
	Add func(groups.Group) (undo func() error, problems []*config.Problem, err error)

	Idle   bool                // it will not be run: no container engine is looked for
	Getenv func(string) string // names the container engine; nil: the process's environment

	// Channels builds the channels; nil: those that the configuration names.
	Channels func(*config.Config, Options) ([]channel.Channel, error)

	disk  *scratch     // the Host's
	door  *door        // the Host's
	book  *book        // the Host's
	links http.Handler // the Host's
	clock *clock       // the Host's
}

// Host is everything that serve and demo run, wired.
type Host struct {
	live.Current // the configuration in force

	opts       Options
	Layout     groups.Layout
	reloading  sync.Mutex               // held while the configuration is replaced
	unapplied  atomic.Pointer[string]   // why the last reload was refused; nil: it was not
	lost       atomic.Pointer[[]string] // see LostGroups
	adding     sync.Mutex               // held while a group is registered; before reloading
	Channels   []channel.Channel
	Outbox     *outbox.Outbox
	audit      *audit.Log // nil: none is kept
	Bridge     *bridge.Bridge
	spool      *ipc.Spool
	engine     atomic.Pointer[docker.Engine] // nil: no assistant has needed one yet
	assistants *assistant.Manager
	tasks      *tasks.Tasks // nil if the host is not to run
	door       *door
	book       *book
	recent     *operator.Recent // lines of opts.Log
	linker     *linker
	links      *links.Server
	models     models
	notifier   *notify.Notifier
	refusals   refusals
	gone       goneCheck
	clock      *clock
	whole      whole
	remote     *remote.Server // for assistants elsewhere; nil: none
	started    time.Time
	converts   bool // the machine has ffmpeg, and it may run
}

// New opens everything that cfg names and starts nothing. Close closes what it
// opened; New does so itself if it returns an error.
func New(ctx context.Context, cfg *config.Config, opts Options) (_ *Host, err error) {
	if opts.Trace == nil {
		opts.Trace = func(string, string, string) {}
	}
	if opts.Channels == nil {
		opts.Channels = configuredChannels
	}
	h := &Host{Layout: cfg.Layout(), started: time.Now(), recent: operator.NewRecent(), whole: whole{seen: map[string]fs.FileInfo{}}}
	opts.Log = h.recent.Copy(opts.Log)
	h.linker = &linker{find: h.account, log: opts.Log, all: map[string]*linking{}}
	opts.disk = &scratch{dir: cfg.State, keep: h.FreeDisk}
	h.door = newDoor(h.Layout, func() bool { return h.Config().Direct == "pairing" }, opts.Log)
	h.door.strangers.trigger = h.triggerIn
	h.book = &book{groups: h.Registry}
	h.links = &links.Server{Keys: links.NewKeys(h.Layout.Outbox()), Open: h.openLink, Log: opts.Log}
	h.models = models{host: h, open: map[string]*model{}, passes: map[string]string{}}
	h.clock = new(clock)
	opts.door, opts.book, opts.links, opts.clock = h.door, h.book, h.links, h.clock
	h.opts = opts
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.open(ctx, cfg); err != nil {
		return nil, err
	}
	_, missing := exec.LookPath("ffmpeg")
	h.converts = missing == nil && cfg.MediaTools != string(confine.Off)
	h.Bridge = bridge.New(bridge.Options{
		Settings: &h.Current, Channels: h.Channels, Outbox: h.Outbox, Spool: h.spool, State: h, Addresses: h.links.Keys,
		Answers: answers{h}, Audit: h.audit, Log: opts.Log, Trace: opts.Trace,
		Convert: convert.New(confine.Mode(cfg.MediaTools), opts.disk.file),
	})
	if !opts.Idle {
		if err := errors.Join(h.openTasks(ctx), h.openRemote(ctx), h.models.prepare(ctx, cfg)); err != nil {
			return nil, err
		}
	}
	if err := h.LostFiles(); err != nil { // sees them for the first time
		return nil, err
	}
	h.notifier = h.newNotifier()
	h.assistants, err = assistant.New(h.assistantOptions())
	return h, err
}

// open makes the directories and opens what lies in them, in the order in
// which one needs the other.
func (h *Host) open(ctx context.Context, cfg *config.Config) (err error) {
	if unset := cfg.Unset; len(unset) > 0 && !h.opts.Idle {
		return unset[0] // without its token, the page would be open to everybody
	}
	if !h.opts.Idle {
		if err := checkStores(ctx, cfg); err != nil {
			return err
		}
	}
	if err := h.makeDirs(cfg, nil); err != nil {
		return err
	}
	if h.Channels, err = h.opts.Channels(cfg, h.opts); err != nil {
		return err
	}
	first, err := h.prepare(ctx, cfg, nil)
	if err != nil {
		return err
	}
	h.Set(first)
	if !h.opts.Idle {
		h.noteServed(false)
	}
	if problems := Unsupported(cfg, h.Channels); len(problems) > 0 {
		return fmt.Errorf("%s: %s", problems[0].Key, problems[0].Message)
	}
	cfg.Forget()
	if err := h.openChannels(ctx); err != nil {
		return err
	}
	if h.Outbox, err = outbox.Open(ctx, h.outboxOptions()); err != nil {
		return err
	}
	if err := h.openAudit(cfg); err != nil {
		return err
	}
	h.spool = ipc.NewSpool(ipc.SpoolOptions{
		Dir: h.Layout.IPCDir(), Folders: live.Folders(cfg), Restore: h.Layout.PrepareQueue, Refused: h.refused, Log: h.opts.Log, Trace: h.opts.Trace, Keep: h.QueueKeeps,
	})
	return nil
}

// Run runs every part until ctx is done, or until one of them cannot go on. A
// channel that its platform has ended for good stops nothing else.
func (h *Host) Run(ctx context.Context) error {
	h.reap(ctx)
	h.tellSnapshots()
	local := h.Local(true)
	page, err := h.openConsole(local)
	if err != nil {
		return err
	}
	if err := h.Bridge.RecordMissing(ctx); err != nil {
		h.opts.Log.Error("the audit trail lacks entries from before a crash", "error", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range h.Channels {
		in := inbox{channel: c.Name(), groups: h.Registry, assistants: h.assistants, outbox: h.Outbox, log: h.opts.Log, trace: h.opts.Trace, approval: h.approval, hide: h.Bridge.Hide}
		g.Go(func() error {
			if err := c.Run(ctx, in); err != nil {
				h.opts.Log.Error("channel ended; its deliveries are kept", "channel", c.Name(), "error", err)
			}
			return nil
		})
	}
	g.Go(func() error { return h.Outbox.Run(ctx) })
	g.Go(func() error { return h.spool.Run(ctx) })
	g.Go(func() error { h.Bridge.Run(ctx, h.assistants); return nil }) // ends after the outbox
	g.Go(func() error { return h.assistants.Run(ctx) })
	g.Go(func() error { return h.tasks.Run(ctx) })
	g.Go(func() error { return h.tellContexts(ctx) })
	g.Go(func() error { return h.sweep(ctx) })
	if h.audit != nil {
		g.Go(func() error { h.audit.Run(ctx); return nil })
	}
	g.Go(func() error { return h.door.run(ctx, h.Channels) })
	g.Go(func() error { h.notifier.Run(ctx); return nil })
	g.Go(func() error { h.linker.run(ctx); return nil })
	if h.remote != nil {
		g.Go(func() error { return h.remote.Run(ctx) })
	}
	if page != nil {
		g.Go(func() error { return page.Run(ctx) })
	}
	health := local.Health()
	control := operator.Server{Dir: operator.ControlDir(h.Layout), Control: local, Health: health, Log: h.opts.Log}
	g.Go(func() error { return control.Run(ctx) })
	if metrics := h.Config().Metrics; metrics.Listen != "" {
		g.Go(func() error { return operator.ServeHealth(ctx, metrics.Listen, metrics.Hosts, health) })
	}
	return g.Wait()
}

// openConsole listens for the operator's page; nil if the configuration has none.
func (h *Host) openConsole(local *operator.Local) (*console.Console, error) {
	o := h.Config().OperatorPage
	if o.Listen == "" {
		return nil, nil
	}
	page, err := console.Open(console.Options{Listen: o.Listen, Hosts: o.Hosts, Control: local, Log: h.opts.Log})
	if err == nil {
		local.Running.Page = page
	}
	if err == nil && h.opts.Ready != nil {
		h.opts.Ready(page.SignIn())
	}
	return page, err
}

// Close closes what New opened. Run must have returned.
func (h *Host) Close() error {
	errs := []error{h.models.close()}
	if h.remote != nil {
		errs = append(errs, h.remote.Close())
	}
	if h.tasks != nil {
		errs = append(errs, h.tasks.Close())
	}
	if h.Outbox != nil {
		errs = append(errs, h.Outbox.Close())
	}
	if h.spool != nil {
		errs = append(errs, h.spool.Close())
	}
	if h.audit != nil {
		errs = append(errs, h.audit.Close())
	}
	for _, c := range h.Channels {
		if closer, ok := c.(channel.Opener); ok {
			errs = append(errs, closer.Close())
		}
	}
	if engine := h.engine.Load(); engine != nil {
		errs = append(errs, engine.Close())
	}
	if last := h.Now(); last != nil {
		errs = append(errs, last.CloseBut(nil))
	}
	return errors.Join(errs...)
}
