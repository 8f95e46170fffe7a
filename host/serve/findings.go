package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// partFindings makes the findings of a running host but those that operator.Local makes. What asks the
// disk or others does so in the background: while that hangs, the last answer counts.
type partFindings struct {
	h                                    *Host
	doctor, environment, database, pages finding.Background

	damaged []finding.Finding // of the last time that databases were read
	reread  time.Time         // when they are read again
	tried   time.Time         // when the engine last started a container as a test; zero: it did not
}

// How often programs, engine and images are looked for while somebody asks, and how often the
// engine is asked for a container, and machines are logged in to, if all is well.
const (
	programsEvery = 20 * time.Second
	tryEvery      = 10 * time.Minute
)

func newParts(h *Host) *partFindings {
	p := &partFindings{h: h}
	p.doctor = finding.Background{Every: 2 * time.Second, Source: finding.Func(func(ctx context.Context) []finding.Finding { return append(h.doctor().Findings(ctx), h.ofStores()...) })}
	p.database = finding.Background{Every: databaseEvery, Source: finding.Func(h.ofDatabase)}
	p.pages = finding.Background{Source: finding.Func(p.ofPages)}
	p.environment = finding.Background{Every: programsEvery, Source: finding.Func(p.ofEnvironment)}
	return p
}

// ofEnvironment looks for what assistants need of this process. That the engine starts a container
// is tried again only after a while, or soon if anything is wrong.
func (p *partFindings) ofEnvironment(ctx context.Context) []finding.Finding {
	deep := time.Since(p.tried) > tryEvery
	all := doctor.Environment(ctx, p.h.Config(), p.h.opts.Getenv, deep)
	switch {
	case len(finding.Wrong(all)) > 0:
		p.tried = time.Time{}
	case deep:
		p.tried = time.Now()
	}
	return all
}

// Databases are read as a whole while somebody asks: each half minute if that costs less than a thousandth of the time.
const (
	readEvery = 30 * time.Second
	readShare = 1000
)

// ofPages finds damage of databases that no statement has met yet.
func (p *partFindings) ofPages(ctx context.Context) []finding.Finding {
	began := time.Now()
	if began.Before(p.reread) || p.h.LostFiles() != nil {
		return p.damaged
	}
	p.damaged = nil
	for _, s := range StoresOf(p.h.Config(), true) {
		if s.OnServer() {
			continue
		}
		if known, ok := errors.AsType[*store.Error](s.Whole(ctx)); ok && errors.Is(known, store.ErrDamaged) {
			p.damaged = append(p.damaged, finding.Finding{Name: finding.Damaged, Part: s.Name, Severity: finding.Fault, Cause: known.Message, Remedy: known.Remedy})
		}
	}
	p.reread = time.Now().Add(max(readEvery, readShare*time.Since(began)))
	return p.damaged
}

// Findings implements finding.Source. Each part of the host that is a finding.Source is asked.
func (p *partFindings) Findings(ctx context.Context) []finding.Finding {
	own := slices.Concat(ofLimits(), p.h.ofFiles(), p.h.ofConfig(), p.h.ofCalls())
	if p.h.opts.Lease != nil {
		own = append(own, p.h.opts.Lease.Host().Findings(ctx)...)
	}
	for _, one := range p.h.parts {
		if s, ok := one.(finding.Source); ok {
			own = append(own, s.Findings(ctx)...)
		}
	}
	own = append(own, p.h.down.Findings(ctx)...)
	return finding.Merge(append([][]finding.Finding{own}, finding.AtOnce(ctx, &p.database, &p.doctor, &p.pages, &p.environment)...)...)
}

// Examine implements operator.Examiner.
func (p *partFindings) Examine(ctx context.Context) []finding.Finding {
	return p.h.doctor().Examine(ctx)
}

// doctor is the Doctor of the running host.
func (h *Host) doctor() doctor.Doctor {
	c := h.Config()
	d := doctor.Of(c, StoresOf(c, true), h.lostGroups(), Checks(c), h.opts.Getenv)
	d.Running, d.File = true, ""
	if h.opts.File != nil {
		d.File, d.Wrong = c.File, h.wrong(c)
	}
	return d
}

// wrong returns the problems of the configuration file if it was changed since the host applied it.
func (h *Host) wrong(applied *config.Config) []*config.Problem {
	if b, err := config.Read(applied.File); err == nil && sha256.Sum256(b) == applied.Sum {
		return nil
	}
	_, problems, _ := h.opts.File.Load(nil) // the doctor names a file that cannot be read
	return problems
}

// spareFiles is how many more files a host must be able to open: each answer and each commit opens some.
const spareFiles = 8

// ofLimits finds that this process can hardly open any more files.
func ofLimits() []finding.Finding {
	for range spareFiles {
		f, err := os.Open(os.DevNull)
		if err == nil {
			defer f.Close()
			continue
		}
		var limit unix.Rlimit
		if !errors.Is(err, unix.EMFILE) && !errors.Is(err, unix.ENFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
			break
		}
		return []finding.Finding{{
			Name: finding.FilesFew, Part: finding.LimitsPart, Severity: finding.Fault, Remedy: finding.MoreFiles,
			Cause: fmt.Sprintf("this process may open %d files and has no more left", limit.Cur),
		}}
	}
	return nil
}

// ofFiles finds files of the state that went away.
func (h *Host) ofFiles() []finding.Finding {
	if _, err := os.Stat(h.Layout.State); errors.Is(err, fs.ErrNotExist) {
		return []finding.Finding{finding.Gone(h.Layout.State, os.Getpid())}
	}
	lost := h.LostFiles()
	if lost == nil || errors.Is(lost, fs.ErrPermission) { // the doctor names the directory that is closed
		return nil
	}
	remedy := "let no second host start; put them back; or stop the host, restore a backup as docs/operations.md says, and start it"
	if all, _ := h.lostFiles(); len(all) == 1 && all[0] == h.nameOf(h.idFile()) { // the markers have it
		remedy = "put it back, or restart the host, which writes it again"
	}
	return []finding.Finding{{
		Name: finding.StateGone, Part: "state", Severity: finding.Fault, Cause: "no delivery can be accepted: " + lost.Error(), Remedy: remedy,
	}}
}

// ofConfig finds that longshore.yaml is not what the host runs by.
func (h *Host) ofConfig() (all []finding.Finding) {
	f := finding.Finding{Part: "configuration", Severity: finding.Fault, Operation: "reload"}
	if lost := h.lostGroups(); len(lost) > 0 {
		f.Name, f.Cause = finding.Groups, "longshore.yaml lacks groups that the host has served: "+strings.Join(lost, ", ")+"; their tokens, tasks and files are kept"
		f.Remedy = doctor.GoneRemedy
		all = append(all, f)
	}
	if why := h.unapplied.Load(); why != nil {
		f.Name, f.Cause, f.Remedy = finding.Config, "the host runs by an older longshore.yaml, since the last reload was refused: "+why.Text(), cmp.Or(why.Hint, "correct longshore.yaml")+"; then: longshore reload"
		all = append(all, f)
	}
	return all
}

// ofCalls finds, by group, what the proxies refused in calls of models and the operator may allow.
func (h *Host) ofCalls() (all []finding.Finding) {
	h.models.mu.Lock()
	defer h.models.mu.Unlock()
	for _, folder := range slices.Sorted(maps.Keys(h.models.open)) {
		g, ok := h.Registry().ByFolder(folder)
		names := h.models.open[folder].proxy.Asked()
		if names = names[:min(len(names), 3)]; !ok || len(names) == 0 {
			continue
		}
		all = append(all, finding.Finding{
			Name: finding.Call, Part: "group " + folder, Severity: finding.Warning,
			Cause: fmt.Sprintf("calls of the model by the assistant of group %s were refused, as they hold %q", folder, names),
			Remedy: fmt.Sprintf("if that is meant, add it to assistants.%s.provider_tools: {allow: [%s]} and run longshore reload; docs/assistants.md says what each allows",
				g.Assistant, strings.Join(names, ", ")),
		})
	}
	return all
}

const (
	databaseEvery = 5 * time.Second
	slowDatabase  = time.Second // for one small commit
)

// ofDatabase commits a change without effect and reads it, if the state's database is a server of its own, and
// finds what keeps the server from it.
func (h *Host) ofDatabase(ctx context.Context) []finding.Finding {
	if h.State == nil || !h.State.Spec.OnServer() {
		return nil
	}
	began := time.Now()
	_, err := h.State.Exec(ctx, store.Probe, began.UnixNano())
	took := time.Since(began)
	if err == nil {
		var at int64
		err = h.State.QueryRowContext(ctx, store.ProbeRead).Scan(&at)
	}
	f := finding.Finding{Name: finding.State, Part: "state", Severity: finding.Fault}
	switch err = store.Words(err); {
	case err == nil && took < slowDatabase:
		return nil
	case err == nil:
		f.Severity, f.Cause = finding.Warning, fmt.Sprintf("the state's PostgreSQL is slow: a small commit took %s", took.Round(10*time.Millisecond))
		f.Remedy = "look for what occupies its machine, its disk or the way to it"
	default:
		f.Cause = fmt.Sprintf("the state's PostgreSQL cannot be used: %v", err)
		f.Remedy = remedyForDatabase(err) + "; the host goes on by itself"
	}
	return []finding.Finding{f}
}

func remedyForDatabase(err error) string {
	if known, ok := errors.AsType[*store.Error](err); ok && known.Remedy != "" {
		return known.Remedy
	}
	return postgres.Remedy(err)
}
