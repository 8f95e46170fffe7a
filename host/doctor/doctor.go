// Package doctor finds problems of an installation and says what to do about them: of one whose
// host does not run, and, as a part of the running host's findings, of its own. It only reads: it
// opens files for reading, and copies a database with an unfinished log out of the state
// directory first.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Doctor checks one installation. It writes nothing.
type Doctor struct {
	Layout   groups.Layout
	Groups   []groups.Group   // from the configuration
	Stores   []store.Spec     // those that serve opens
	Served   []string         // the folders of the groups that a host has served
	FreeDisk int64            // limits.free_disk in bytes: space that the outbox leaves free; 0: none
	Channels map[string]Check // of the configured channels, by part
	Running  bool             // the host itself asks: it has the stores open and the addresses taken

	Container bool   // an assistant runs in a container
	Proc      string // mount point of procfs; empty: /proc

	File   string              // of the configuration; empty: it is in none
	Wrong  []*config.Problem   // of that file, if it was changed to one that cannot be served
	Config *config.Config      // nil: there is no configuration to be looked at
	Getenv func(string) string // names the container engine
}

// Check checks one channel, or another part; running reports whether the host asks.
type Check func(ctx context.Context, running bool) []finding.Finding

// Of returns the Doctor for a valid configuration. served are the folders of the groups that a
// host has served, channels the checks of the configured channels.
func Of(c *config.Config, stores []store.Spec, served []string, channels map[string]Check, getenv func(string) string) Doctor {
	return Doctor{
		Layout: c.Layout(), Groups: c.Groups, Stores: stores, Served: served, FreeDisk: int64(c.Limits.FreeDisk),
		Channels: channels, Container: len(c.InContainers()) > 0, File: c.File, Config: c, Getenv: getenv,
	}
}

// Findings implements finding.Source: what can be seen at any time at little cost.
func (d Doctor) Findings(ctx context.Context) (all []finding.Finding) {
	d.Proc = cmp.Or(d.Proc, "/proc")
	all = each(ctx, d, Doctor.config, Doctor.secrets, Doctor.Machine, Doctor.state, Doctor.usable, Doctor.disk, Doctor.queues, Doctor.quarantine, Doctor.clock)
	if !d.Running {
		short, cancel := context.WithTimeout(ctx, readTime)
		defer cancel()
		all = append(append(all, d.trail(ctx)...), d.stores(short)...)
	}
	if !d.Running && d.Config != nil {
		all = append(all, each(ctx, d, Doctor.down, Doctor.addresses, Doctor.programs)...)
	}
	return all
}

// Start returns the faults that keep a host from starting on an installation at rest.
func (d Doctor) Start(ctx context.Context) []finding.Finding {
	d.Proc = cmp.Or(d.Proc, "/proc")
	all := finding.Merge(each(ctx, d, Doctor.Machine, Doctor.state, Doctor.usable, Doctor.trail, Doctor.opened))
	return slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Severity != finding.Fault || f.Name == finding.StateOpen })
}

// Examine returns what takes longer or asks others, all at once and for some seconds: databases, channels' platforms,
// assistants' programs, engine and machines. Of who has not answered then, it says that.
func (d Doctor) Examine(ctx context.Context) []finding.Finding {
	d.Proc = cmp.Or(d.Proc, "/proc")
	ctx, cancel := context.WithTimeout(ctx, operator.ExamineTime)
	defer cancel()
	ask := func(part string, checks ...func(Doctor, context.Context) []finding.Finding) finding.Source {
		return finding.Bounded{Part: part, Source: finding.Func(func(ctx context.Context) []finding.Finding { return each(ctx, d, checks...) })}
	}
	sources := []finding.Source{
		ask("machine", Doctor.advice, Doctor.volume, Doctor.inotify, Doctor.aside), ask("state", Doctor.stores), ask(trailPart, Doctor.chain),
		ask("assistants", Doctor.keys, Doctor.environment),
	}
	for part, check := range d.Channels {
		sources = append(sources, finding.Bounded{Part: part, Source: finding.Func(func(ctx context.Context) []finding.Finding { return check(ctx, d.Running) })})
	}
	return slices.Concat(finding.AtOnce(ctx, sources...)...)
}

func each(ctx context.Context, d Doctor, checks ...func(Doctor, context.Context) []finding.Finding) (all []finding.Finding) {
	for _, check := range checks {
		if ctx.Err() != nil {
			return all
		}
		all = append(all, check(d, ctx)...)
	}
	return all
}

// Ask returns the findings of the host that runs, with those of its examination, and what only
// somebody outside it can see. If none runs, it examines the installation itself. err is of Client.Health.
func (d Doctor) Ask(ctx context.Context, err error) []finding.Finding {
	d.Proc = cmp.Or(d.Proc, "/proc")
	outside := d.user(ctx)
	if err == nil {
		var all []finding.Finding
		if all, err = operator.NewClient(operator.ControlDir(d.Layout)).Findings(ctx, true); err == nil {
			return finding.Merge(outside, all)
		}
	}
	unasked := []finding.Finding{Unasked(d.Layout, err)}
	switch {
	case errors.Is(err, operator.ErrDenied): // the checks could see nothing, and would report false problems
		return unasked
	case errors.Is(err, operator.ErrNoHost):
		if unasked[0].Name == finding.Host && len(d.Start(ctx)) > 0 { // what keeps a host from starting says more
			unasked = nil
		}
		return finding.Merge(outside, unasked, d.Findings(ctx), d.Examine(ctx))
	}
	d.Running = true
	return finding.Merge(outside, unasked, d.Findings(ctx))
}

// Allow is the remedy for a file or directory that its owner may not use.
func Allow(path string) string { return finding.Remedy(fs.ErrPermission, path) }

// Unasked is the finding that the host of l could not be asked, by the error of a Client.
func Unasked(l groups.Layout, err error) finding.Finding {
	if other := NoSocket(l); len(other) > 0 && (errors.Is(err, operator.ErrDenied) || store.LockHolder("/proc", filepath.Join(l.Own(), "longshore.lock")) > 0) {
		return other[0]
	}
	for _, dir := range []string{l.State, l.Own()} {
		if fi, failed := os.Stat(dir); errors.Is(err, operator.ErrDenied) && failed == nil && safefs.Mine(fi) && fi.Mode().Perm()&0o500 != 0o500 {
			return Doctor{Layout: l}.unusable(finding.State, "state", dir, fs.ErrPermission)
		}
	}
	f := finding.Finding{Name: finding.Silent, Part: "host", Severity: finding.Fault, Cause: err.Error(), Remedy: operator.SilentRemedy}
	switch {
	case errors.Is(err, operator.ErrDenied):
		f.Name, f.Remedy = finding.Denied, "run the command as the user that the host runs as, or as root"
	case errors.Is(err, operator.ErrNoHost):
		f.Name, f.Severity, f.Cause, f.Remedy = finding.Host, finding.Note, "no host is running on this state directory", "longshore serve"
	default:
		if pid := store.LockHolder("/proc", filepath.Join(l.Own(), "longshore.lock")); pid > 0 {
			f.Cause = fmt.Sprintf("%v; it is process %d", err, pid)
			f.Remedy = strings.Replace(f.Remedy, "kill -9", fmt.Sprint("kill -9 ", pid), 1)
		}
	}
	return f
}

func found(name, part string, s finding.Severity, cause, remedy string) []finding.Finding {
	return []finding.Finding{{Name: name, Part: part, Severity: s, Cause: cause, Remedy: remedy}}
}

func well(part, words string) []finding.Finding { return []finding.Finding{finding.Well(part, words)} }

// realDir describes a directory. Anything else, even a link to a directory, is an error with it
// (fs.ErrInvalid): a link would lead the host out of its state directory.
func realDir(path string) (fs.FileInfo, error) { return dirBy(os.Lstat, path) }

// dirAt is realDir and follows links.
func dirAt(path string) (fs.FileInfo, error) { return dirBy(os.Stat, path) }

func dirBy(stat func(string) (fs.FileInfo, error), path string) (fs.FileInfo, error) {
	fi, err := stat(path)
	if err == nil && !fi.IsDir() {
		err = &fs.PathError{Op: "look at", Path: path, Err: fs.ErrInvalid}
	}
	return fi, err
}

// rel shortens a path below the state directory for a message.
func (d Doctor) rel(path string) string {
	if r, err := filepath.Rel(d.Layout.State, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	return path
}

// config checks the permissions of the configuration file, because whoever can write it decides who
// may send what, and which directories containers see.
func (d Doctor) config(context.Context) []finding.Finding {
	if d.File == "" {
		return nil
	}
	fi, err := os.Stat(d.File)
	if err == nil {
		err = safefs.Readable(d.File, false)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return found(finding.Invalid, "configuration", finding.Fault, "read configuration: "+err.Error(), finding.Remedy(err, d.File))
	case err != nil:
		return found(finding.Invalid, "configuration", finding.Fault, err.Error(), "put the file back; a running host goes on by the one that it applied last")
	case !fi.Mode().IsRegular():
		return found(finding.Invalid, "configuration", finding.Fault, d.File+" is not a file", "put the file back; a running host goes on by the one that it applied last")
	case fi.Mode().Perm()&0o022 != 0:
		return found(finding.ConfigOpen, "configuration", finding.Fault, "others may write to the configuration (mode "+modeText(fi)+")", "chmod go-w "+finding.ShellWord(d.File))
	case len(d.Wrong) > 0:
		all := Invalid(finding.Invalid, finding.Fault, d.Wrong)
		for i := range all {
			all[i].Remedy += "; then: longshore reload. The host goes on by the file that it applied last"
		}
		return all
	}
	return well("configuration", "the configuration is valid, and only its owner may change it")
}

// secrets finds the files of secrets that others may read, and those that a running host could not read again.
func (d Doctor) secrets(context.Context) (all []finding.Finding) {
	if d.Config == nil {
		return nil
	}
	for _, path := range openSecrets(d.Config) {
		all = append(all, found(finding.ConfigOpen, "configuration", finding.Warning, "others may read the secret in "+path, "chmod 0600 "+finding.ShellWord(path))...)
	}
	if !d.Running {
		return all
	}
	for key, path := range d.Config.Secrets {
		_, wrong, hint := config.ReadSecret(path)
		if wrong == "" || slices.ContainsFunc(d.Config.Down, func(p *config.Problem) bool { return p.Key == key }) {
			continue // the part that has lacked it since the load says so
		}
		all = append(all, found(finding.Secret, "configuration, "+key, finding.Warning, fmt.Sprintf("%s, %s: %s; the host goes on by what it has read, and lacks it from its next start or reload on", key, path, wrong), hint)...)
	}
	return all
}

// openSecrets are the host's own files of secrets that others may use. On files of others, such as those
// that a container engine hands over, somebody else decides.
func openSecrets(c *config.Config) []string {
	return slices.DeleteFunc(slices.Clone(c.SecretFiles), func(path string) bool {
		fi, err := os.Stat(path)
		return err != nil || fi.Mode().Perm()&0o077 == 0 || !safefs.Mine(fi)
	})
}

// advice repeats the file's warnings.
func (d Doctor) advice(context.Context) []finding.Finding {
	if d.Config == nil {
		return nil
	}
	return Invalid(finding.Advice, finding.Warning, d.Config.Warnings)
}

// Invalid converts problems of a configuration to findings of that name.
func Invalid(name string, severity finding.Severity, problems []*config.Problem) (all []finding.Finding) {
	for _, p := range problems {
		all = append(all, finding.Finding{Name: name, Part: "configuration", Severity: severity, Cause: p.Text(), Remedy: cmp.Or(p.Hint, "correct the line")})
	}
	return all
}

// reason is an error without its path.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func modeText(fi fs.FileInfo) string { return strconv.FormatUint(uint64(fi.Mode().Perm()), 8) }
