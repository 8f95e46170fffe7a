// Package serve opens the parts of a host, connects them, applies a changed configuration to them and
// runs them.
package serve

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/console"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/links"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/notify"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/remote"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// Options is what a host needs beside its configuration.
type Options struct {
	Log     *slog.Logger
	Version string                             // of the program
	Trace   func(folder, request, step string) // hears of each step of a request; may be nil

	Lease  *cluster.Lease      // with which this host owns; nil: the state is on this machine
	File   File                // nil: the configuration comes from no file
	Idle   bool                // the host will not run: it opens only what the action of a command needs
	Getenv func(string) string // names the container engine; nil: the process's environment

	Channels []channel.Channel // nil: those that the configuration names
}

// File is the file of a host's configuration.
type File interface {
	// Load reads and checks it again, with the groups that the state has: all that is wrong
	// with it, or an error of a file that could not be read.
	Load(registered []groups.Group) (*config.Config, []*config.Problem, error)
}

// Host is a host of chats and assistants. New makes one; a process runs one host for a state directory.
type Host struct {
	live.Current // the configuration in force

	opts       Options
	parts      []Part // in the order of openers
	Layout     groups.Layout
	reloading  sync.Mutex                     // held while the configuration is replaced
	unapplied  atomic.Pointer[config.Problem] // why the last reload was refused; nil: it was not
	lost       atomic.Pointer[[]string]       // see lostGroups
	adding     sync.Mutex                     // held while a group is registered; before reloading
	telling    sync.Mutex                     // held while snapshots are written; last
	State      *state.DB
	Channels   []channel.Channel         // each a channel.Holder, but those of Options
	madeOf     map[string]config.Channel // the channels as they were made last, by name
	Outbox     *outbox.Outbox
	audit      *audit.Log // nil: none is kept
	Bridge     *bridge.Bridge
	spool      *spool.Spool
	engines    *engines.Engines
	owner      string // of containers: see OwnerOf
	assistants *turns.Manager
	local      *operator.Local  // nil if the host is not to run
	console    *console.Console // nil: no page
	down       *upkeep.List
	tasks      *tasks.Tasks // nil if the host is not to run
	plans      plans
	disk       *disk
	pairing    *pairing
	lists      *taskLists
	recent     *operator.Recent // lines of opts.Log
	linker     *linker
	links      *links.Server
	models     models
	notifier   *notify.Notifier
	backup     *backup.Daily // nil if the host is not to run
	refusals   refusals
	clock      *clock
	whole      whole
	remote     *remote.Server // for assistants elsewhere; nil: none
	started    time.Time
	converts   bool          // the machine has ffmpeg, and it may run
	trailed    chan struct{} // closed when the audit trail has what a crash took from it
}

// New opens all parts that cfg needs and runs none. The caller closes the host; after an error, New has
// closed everything. The error is store.ErrLocked if another host has the state directory open.
func New(ctx context.Context, cfg *config.Config, opts Options) (_ *Host, err error) {
	if opts.Trace == nil {
		opts.Trace = func(string, string, string) {}
	}
	h := &Host{Channels: opts.Channels, madeOf: map[string]config.Channel{}, Layout: cfg.Layout(), started: time.Now(), recent: operator.NewRecent(), trailed: make(chan struct{}), whole: whole{seen: map[string]fs.FileInfo{}, databases: map[string]*os.File{}}}
	opts.Log = h.recent.Copy(opts.Log)
	h.down = upkeep.New(opts.Log)
	h.disk = &disk{dir: cfg.State.Directory, keep: h}
	h.plans = plans{h, transcribe.New(confine.Mode(cfg.MediaTools), h.disk.file)}
	h.lists = &taskLists{groups: &h.Current}
	h.models = models{host: h, open: map[string]*model{}, passes: map[string]string{}}
	h.clock = new(clock)
	h.opts = opts
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.openParts(ctx, cfg); err != nil {
		return nil, err
	}
	return h, h.LostFiles() // it remembers the files of the state
}

// Run runs every part until ctx is done, which is no error, or until one of them fails.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var recording sync.WaitGroup
	defer recording.Wait()
	defer cancel()
	recording.Go(func() { // it reads every delivery of some minutes: nobody waits for it but who deletes them
		defer close(h.trailed)
		if err := h.Bridge.RecordMissing(ctx); err != nil && ctx.Err() == nil {
			h.opts.Log.Error("the audit trail lacks entries from before a crash", "error", err)
		}
	})
	return runParts(ctx, h.parts)
}

// Close closes what New opened. Run must have returned.
func (h *Host) Close() error { return errors.Join(closeParts(h.parts), h.whole.close()) }
