package serve

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

var errNoFile = errors.New("this host has no configuration file to read again")

// Reload reads the configuration again and applies it, whole or not at all. It drops no connection, and
// ends only turns of groups that are gone, have another chat or channel, or have no assistant any more.
// A file with problems is no error: the answer has them. Without remove, a file that ends more than
// half of the groups is refused. An error means that the file could not be read or applied.
func (h *Host) Reload(ctx context.Context, remove bool) (operator.Reloaded, error) {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	before := h.Now()
	answer := operator.Reloaded{File: before.Config.File, Applied: before.Applied, Changes: []string{}, Problems: []string{}}
	if h.opts.File == nil {
		return answer, errNoFile
	}
	registered, err := h.registered(ctx)
	if err != nil {
		return answer, err
	}
	cfg, problems, err := h.opts.File.Load(registered)
	if err != nil {
		h.opts.Log.Error("configuration not read; the host runs on as before", "error", err)
		h.unapplied.Store(&config.Problem{File: before.Config.File, Message: err.Error()})
		return answer, err
	}
	changes := config.Changes{}
	if cfg != nil {
		changes = config.Compare(before.Config, cfg)
		problems = slices.Concat(problems, newlyDenied(before.Config, cfg), changes.Restart, h.noWayBack(cfg))
		if gone := h.removals(cfg); len(gone) > 0 && !remove {
			problems = append(problems, removalProblem(cfg, gone))
			answer.Removes = gone
		}
	}
	if len(problems) > 0 {
		h.unapplied.Store(problems[0])
		for _, p := range problems {
			answer.Problems = append(answer.Problems, p.Error())
			h.opts.Log.Error("configuration refused; the host runs on as before", "problem", p.Position()+p.Message, "hint", p.Hint)
		}
		return answer, nil
	}
	if err := h.apply(cfg, before); err != nil {
		h.opts.Log.Error("configuration not applied; the host runs on as before", "error", err)
		h.unapplied.Store(&config.Problem{File: before.Config.File, Message: err.Error()})
		return answer, err
	}
	h.noteServed(remove)
	h.unapplied.Store(nil)
	answer.Applied, answer.Changes = h.Now().Applied, append(answer.Changes, changes.Lines...)
	h.opts.Log.Info("configuration applied", "groups", len(cfg.Groups), "changes", strings.Join(changes.Lines, "; "))
	return answer, nil
}

// apply puts cfg in force. All that can fail comes first: after an error, the host runs on as before.
func (h *Host) apply(cfg *config.Config, before *live.Live) error {
	h.checkGroups(cfg, before.Registry)
	next, err := h.prepare(cfg, before)
	if err != nil {
		return err
	}
	h.tellDown(cfg)
	cfg.Forget()
	h.Set(next)
	if h.opts.Lease != nil {
		h.opts.Lease.Host().SetConfig(cfg.Common())
	}
	for _, p := range h.parts {
		p.Apply(next)
	}
	return nil
}

// noWayBack returns the problem of a first assistant with runtime: ssh or share: none: the remote
// server, which its tools use, is opened at a start only.
func (h *Host) noWayBack(next *config.Config) []*config.Problem {
	if h.remote != nil || !letsIn(next) {
		return nil
	}
	return []*config.Problem{next.Problem("assistants", "the first assistant with runtime: ssh or share: none is taken up at a start only", "restart the host")}
}

// recheck applies the configuration again if this machine has now what it lacked. A file that was
// changed since waits for a reload. What was refused is not tried again until something changes.
func (d *directories) recheck(ctx context.Context) error {
	h, now := d.h, d.h.Config()
	if len(now.Down) == 0 || h.opts.File == nil {
		return nil
	}
	registered, err := h.registered(ctx)
	if err != nil {
		return err
	}
	next, problems, err := h.opts.File.Load(registered)
	if err != nil || len(problems) > 0 || next.Sum != now.Sum || sameDown(next.Down, now.Down) || d.refused != nil && sameDown(next.Down, d.refused) {
		return err
	}
	answer, err := h.Reload(ctx, false)
	if d.refused = nil; len(answer.Problems) > 0 {
		d.refused = append([]*config.Problem{}, next.Down...) // it may have lacked nothing more
	}
	return err
}

func sameDown(a, b []*config.Problem) bool {
	return slices.EqualFunc(a, b, func(a, b *config.Problem) bool { return a.Key == b.Key && a.Message == b.Message })
}

// newlyDenied returns the forbidden mounts of next that a file brings whose group is served now.
func newlyDenied(now, next *config.Config) (problems []*config.Problem) {
	for _, p := range next.Denied() {
		if now.WhyDown(p.Part) == nil {
			problems = append(problems, p)
		}
	}
	return problems
}

// tellDown notes which parts a configuration keeps down.
func (h *Host) tellDown(c *config.Config) {
	all := map[string][]finding.Finding{string(cause.Setup): nil, finding.Channel: nil}
	for _, f := range doctor.Down(c) {
		all[f.Name] = append(all[f.Name], f)
	}
	for name, down := range all {
		h.down.Replace(name, down)
	}
}

// usesSSH reports whether the host starts an assistant over ssh.
func usesSSH(c *config.Config) bool {
	for _, a := range c.Assistants {
		if a.Runtime == config.OverSSH {
			return true
		}
	}
	return false
}

// letsIn reports whether an assistant that the host starts uses the remote server.
func letsIn(c *config.Config) bool { return usesSSH(c) || slices.ContainsFunc(c.Groups, c.Alone) }
