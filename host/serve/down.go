package serve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// downs has the parts that are down, each with its cause. The zero value has none.
type downs struct {
	mu  sync.Mutex
	all map[string]finding.Finding // by their ID
}

// set notes that a part is down. It reports whether that is new, or has another cause than before.
func (d *downs) set(f finding.Finding) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	had, known := d.all[f.ID()]
	if f.Since, f.Severity = had.Since, finding.Fault; !known {
		f.Since = time.Now()
	}
	if d.all == nil {
		d.all = map[string]finding.Finding{}
	}
	d.all[f.ID()] = f
	return had != f
}

// clear notes that a part is up. It reports whether it was down.
func (d *downs) clear(f finding.Finding) (was bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, was = d.all[f.ID()]
	delete(d.all, f.ID())
	return was
}

// others returns the parts that are down by that name, but those in next.
func (d *downs) others(name string, next []finding.Finding) (gone []finding.Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, f := range d.all {
		if f.Name == name && !slices.ContainsFunc(next, func(n finding.Finding) bool { return n.ID() == id }) {
			gone = append(gone, f)
		}
	}
	return gone
}

// Findings implements finding.Source.
func (d *downs) Findings(context.Context) []finding.Finding {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.all))
}

// Findings implements operator.Machine.
func (h *Host) Findings(ctx context.Context) []finding.Finding { return h.downs.Findings(ctx) }

// tell notes that the part of f is down because of err, or up if err is nil. It logs what is new.
func (h *Host) tell(f finding.Finding, err error) {
	if err == nil {
		if h.downs.clear(f) {
			h.opts.Log.Info("up again", "part", f.Part)
		}
		return
	}
	f.Cause = err.Error()
	if h.downs.set(f) {
		h.opts.Log.Error("down; the host runs on without it and tries again", "part", f.Part, "error", err, "remedy", f.Remedy)
	}
}

// replace notes that of the parts that can be down by that name, those in next are, each for its
// Cause. It returns how many others were.
func (h *Host) replace(name string, next []finding.Finding) int {
	gone := h.downs.others(name, next)
	for _, f := range gone {
		h.tell(f, nil)
	}
	for _, f := range next {
		h.tell(f, errors.New(f.Cause))
	}
	return len(gone)
}

// tellDown notes which parts a configuration keeps down. A channel says it itself.
func (h *Host) tellDown(c *config.Config) {
	var all []finding.Finding
	for _, p := range slices.Concat(c.Denied, c.Down) {
		if !strings.HasPrefix(p.Part, "channel ") {
			all = append(all, finding.Finding{Name: string(cause.Setup), Part: p.Part, Cause: p.Key + ": " + p.Message, Remedy: p.Hint})
		}
	}
	h.replace(string(cause.Setup), all)
}

// listenerDown is the finding of a part that cannot listen at the address below its key.
func listenerDown(key string) finding.Finding {
	return finding.Finding{Name: finding.Listener, Part: key, Remedy: "stop the program that holds the address, or name another one in " + key + ".listen and restart the host"}
}

// The pauses between two attempts to bring up a part.
const (
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// keepUp runs a part that the others do without, until ctx is done: open, which does nothing if the
// part is open, then run. While one of them fails, the part is down, and is tried again after a pause.
func (h *Host) keepUp(ctx context.Context, f finding.Finding, open func() error, run func(context.Context) error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := open()
		h.tell(f, err)
		if err == nil {
			pause = firstPause
			if err = run(ctx); err != nil && ctx.Err() == nil {
				h.tell(f, err)
			}
		}
		if !wake.Sleep(ctx, pause) {
			return
		}
	}
}
