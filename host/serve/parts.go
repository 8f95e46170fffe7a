package serve

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/links"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media/convert"
)

// Part is one of the parts that a host consists of.
type Part interface {
	// Apply takes up the configuration now in force. It returns no error: what can fail was done in
	// Host.prepare, and other errors are logged. Three notice a reload without it, because they
	// compare the configuration or the registry with the last: turns/follow.go,
	// bridge/road.go and whole.go here.
	Apply(now *live.Live)

	// Run works until ctx is done, which is no error. An error ends the host.
	Run(ctx context.Context) error

	// Close closes what the part has opened. Run must have returned.
	Close() error
}

// openers returns what opens the parts; each returns nil if the configuration needs no such part. A
// reload applies in the same order, Close closes in reverse.
func (h *Host) openers(cfg *config.Config) []func(context.Context) (Part, error) {
	all := []func(context.Context) (Part, error){
		func(context.Context) (Part, error) { return h.openEngines(cfg) },
		func(ctx context.Context) (Part, error) { return h.openState(ctx, cfg) },
		func(ctx context.Context) (Part, error) { return h.openDirectories(ctx, cfg) }, // the configuration goes into force here
		h.openChannels, h.openOutbox, h.openAudit, h.openQueue, h.openBridge,
	}
	if h.opts.Idle {
		return append(all, h.openAssistants)
	}
	return append(all, h.openTasks, h.openRemote, h.openModels, h.openPairing, h.openAssistants, h.openContexts,
		h.openBackup, h.openLinker, h.openLocal, h.openNotifier, h.openConsole, h.openControl, h.openMetrics)
}

// openParts opens the parts that cfg needs. After an error, h.parts has those that are open.
func (h *Host) openParts(ctx context.Context, cfg *config.Config) error {
	for _, open := range h.openers(cfg) {
		p, err := open(ctx)
		if p != nil {
			h.parts = append(h.parts, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runParts runs all parts until ctx is done or one of them fails. It waits for all.
func runParts(ctx context.Context, parts []Part) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range parts {
		g.Go(func() error { return p.Run(ctx) })
	}
	return g.Wait()
}

func closeParts(parts []Part) error {
	var errs []error
	for _, p := range slices.Backward(parts) {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// A part embeds these if it has nothing to apply, to run or to close.
type (
	noApply struct{}
	noRun   struct{}
	noClose struct{}
)

func (noApply) Apply(*live.Live)        {}
func (noRun) Run(context.Context) error { return nil }
func (noClose) Close() error            { return nil }

// statePart is the state, which all other parts read and write.
type statePart struct {
	noApply
	*state.DB
	h *Host
}

// Run deletes old rows of channels that have left the configuration, and keeps the database
// small. Its error ends the host, see [state.DB.Run].
func (p statePart) Run(ctx context.Context) error {
	if p.h.opts.Idle {
		return nil
	}
	if err := p.h.forgetFormer(ctx); err != nil && ctx.Err() == nil {
		p.h.opts.Log.Error("old rows of former channels were not deleted", "error", err)
	}
	return p.DB.Run(ctx, p.h.opts.Log)
}

// Findings implements finding.Source.
func (p statePart) Findings(ctx context.Context) []finding.Finding { return p.Blobs.Findings(ctx) }

// forgetFormer deletes old rows of channels that are not configured.
func (h *Host) forgetFormer(ctx context.Context) error {
	cfg := h.Config()
	var names, journals []string
	for _, one := range cfg.Channels {
		names, journals = append(names, one.Name), append(journals, journal.Key(one.Platform.Key(), one.Name))
	}
	errs := []error{journal.ForgetFormer(ctx, h.State, journals)}
	for _, p := range cfg.Platforms {
		if f, ok := p.(channel.Former); ok {
			errs = append(errs, f.ForgetFormer(ctx, h.State, names, h.opts.Log))
		}
	}
	return errors.Join(errs...)
}

// openState opens the state. It makes no directory if that fails.
func (h *Host) openState(ctx context.Context, cfg *config.Config) (_ Part, err error) {
	if !h.opts.Idle {
		if err := store.Check(ctx, StateOf(cfg)); err != nil {
			return nil, err
		}
	}
	if err := cfg.Layout().Prepare(nil); err != nil { // after an interrupted restore, nothing is made
		return nil, err
	}
	if h.State, err = OpenState(ctx, cfg, h.opts.Lease, h.opts.Log); err != nil {
		return nil, err
	}
	of, err := installationOf(cfg)
	if err == nil {
		h.owner, err = h.engines.Load(ctx, h.State, of)
	}
	if err != nil {
		return statePart{DB: h.State, h: h}, err
	}
	h.pairing = newPairing(h.State, &h.Current, h.opts.Log)
	h.links = &links.Server{Keys: links.NewKeys(h.State), Files: h, Log: h.opts.Log}
	return statePart{DB: h.State, h: h}, nil
}

// channelsPart connects the channels.
type channelsPart struct{ h *Host }

// openChannels opens what channels need of the machine, such as addresses; an idle host opens nothing.
// What cannot be opened is tried again when the channel runs.
func (h *Host) openChannels(ctx context.Context) (Part, error) {
	for _, c := range h.Channels {
		if o, ok := channel.Current(c).(channel.Opener); ok && !h.opts.Idle {
			if err := o.Open(ctx); err != nil {
				h.opts.Log.Error("channel not opened; the host runs on without it and tries again", "channel", c.Name(), "error", err)
			}
		}
	}
	return channelsPart{h}, nil
}

// Apply hands each channel its part of the configuration. A channel that cannot take up all of it is
// made anew.
func (p channelsPart) Apply(now *live.Live) {
	for _, c := range p.h.Channels {
		one, configured := now.Config.Channels.Named(c.Name())
		if !configured {
			continue
		}
		if h, ok := c.(*channel.Holder); ok && p.h.madeOf[one.Name].Anew(one) {
			h.Replace(p.h.makeChannel(now.Config, one))
		} else if a, ok := channel.Current(c).(channel.Applier); ok {
			a.Apply(p.h.setupOf(now.Config, one))
		}
	}
}

// Run runs every channel. One that fails ends no other, and is made anew after a pause.
func (p channelsPart) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, c := range p.h.Channels {
		running.Go(func() {
			said := ""
			for pause := upkeep.FirstPause; ; pause = min(2*pause, upkeep.LongestPause) {
				err := c.Run(ctx, inbox{c.Name(), p.h})
				if err == nil || ctx.Err() != nil {
					return
				}
				if words := err.Error(); words != said {
					said = words
					p.h.opts.Log.Error("channel ended; its deliveries are kept, and it is run again", "channel", c.Name(), "error", err)
				}
				if !p.h.runAgain(ctx, c, pause, err) {
					return
				}
			}
		})
	}
	running.Wait()
	return nil
}

func (p channelsPart) Close() error {
	var errs []error
	for _, c := range p.h.Channels {
		if o, ok := channel.Current(c).(channel.Opener); ok {
			errs = append(errs, o.Close())
		}
	}
	return errors.Join(errs...)
}

// outboxPart sends what was accepted.
type outboxPart struct{ *outbox.Outbox }

func (h *Host) openOutbox(ctx context.Context) (_ Part, err error) {
	if h.Outbox, err = outbox.Open(ctx, outbox.Options{State: h.State, Channels: h.Channels, Log: h.opts.Log, Trace: h.opts.Trace, Settings: h, Sweep: h.trailed}); err != nil {
		return nil, err
	}
	return outboxPart{h.Outbox}, nil
}

func (p outboxPart) Apply(*live.Live) { p.Reload() }

// auditPart writes the trail.
type auditPart struct {
	noApply
	*audit.Log
	h    *Host
	rows bool
}

// Findings implements finding.Source.
func (p auditPart) Findings(context.Context) (all []finding.Finding) {
	if waiting, err := p.Failing(); err != nil && !p.rows { // of rows, the database says so
		all = doctor.Doctor{Layout: p.h.Layout}.TrailUnwritten(waiting, err)
	}
	if at, before := p.Broken(); at != nil {
		all = append(all, doctor.TrailBroken(at, p.h.Layout.Audit(), before))
	}
	return all
}

// openAudit opens the trail, unless the configuration or an idle host does without. The outbox's lock
// keeps other hosts away from the trail.
func (h *Host) openAudit(context.Context) (_ Part, err error) {
	if h.Config().Audit.Off || h.opts.Idle {
		return nil, nil
	}
	o := audit.Options{Dir: h.Layout.Audit(), Mark: h.Layout.AuditMark(), Log: h.opts.Log, Settings: h}
	if h.State.Spec.OnServer() { // the next host goes on with it, perhaps on another machine
		o.State = h.State
	}
	h.audit, err = audit.Open(o)
	if err != nil {
		return nil, err
	}
	return auditPart{Log: h.audit, h: h, rows: o.State != nil}, nil
}

func (p auditPart) Run(ctx context.Context) error { p.Log.Run(ctx); return nil }

// queuePart reads the groups' requests.
type queuePart struct{ *spool.Spool }

func (h *Host) openQueue(context.Context) (Part, error) {
	if h.opts.Lease != nil && !h.opts.Idle { // a command's tenure is noted by itself
		if err := holdQueue(h.Layout, h.opts.Lease.Before, h.opts.Lease.Number, h.opts.Log); err != nil {
			return nil, err
		}
	}
	h.spool = spool.New(spool.Options{
		Dir: h.Layout.IPCDir(), Folders: h.Now().Folders(), Restore: h.Layout.PrepareQueue, Known: h.recorded, Refused: h.refused, Log: h.opts.Log, Trace: h.opts.Trace, Keep: h.QueueKeeps,
	})
	return queuePart{h.spool}, nil
}

// recorded reports whether a request was accepted. If the outbox cannot be read, the answer is no.
func (h *Host) recorded(folder, request string) bool {
	found, err := h.Outbox.Reader().Requested(context.Background(), folder, request)
	return err == nil && found
}

func (p queuePart) Apply(now *live.Live) {
	p.Add(now.Folders()...)
	for _, folder := range now.Folders() {
		p.Wake(folder) // there may be more room
	}
}

// bridgePart carries requests to the outbox, and results back.
type bridgePart struct {
	noApply
	noClose
	h *Host
}

func (h *Host) openBridge(context.Context) (Part, error) {
	cfg := h.Config()
	_, missing := exec.LookPath("ffmpeg")
	h.converts = missing == nil && cfg.MediaTools != string(confine.Off)
	h.Bridge = bridge.New(bridge.Options{
		Settings: &h.Current, Channels: h.Channels, Outbox: h.Outbox, Spool: h.spool, State: h, Addresses: h.links.Keys,
		Answers: answers{h}, Audit: h.audit, Log: h.opts.Log, Trace: h.opts.Trace,
		Convert: convert.New(confine.Mode(cfg.MediaTools), h.disk.file),
	})
	return bridgePart{h: h}, nil
}

func (p bridgePart) Run(ctx context.Context) error {
	p.h.Bridge.Run(ctx, p.h.assistants)
	return nil
}

// tasksPart starts the tasks that are due.
type tasksPart struct {
	noClose
	*tasks.Tasks
	h *Host
}

func (p tasksPart) Apply(*live.Live)              { p.Reload(context.Background()) }
func (p tasksPart) Run(ctx context.Context) error { return p.Tasks.Run(ctx, taskRuns{p.h}) }

// pairingPart answers people who have no group.
type pairingPart struct {
	noApply
	noClose
	h *Host
}

func (h *Host) openPairing(context.Context) (Part, error) { return pairingPart{h: h}, nil }

func (p pairingPart) Run(ctx context.Context) error { return p.h.pairing.run(ctx, p.h.Channels) }

// assistantsPart hands members' messages over.
type assistantsPart struct {
	noClose
	*turns.Manager
}

func (h *Host) openAssistants(context.Context) (_ Part, err error) {
	if h.assistants, err = turns.New(h.assistantOptions()); err != nil {
		return nil, err
	}
	return assistantsPart{Manager: h.assistants}, nil
}

func (p assistantsPart) Apply(*live.Live) { p.Reload() }
