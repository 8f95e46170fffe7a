// Package doctor finds problems of an installation and says what to do about
// them. It only reads: it opens files for reading, and copies a database with
// an unfinished log out of the state directory first.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/store"
)

// The types of a finding are those that channels use.
type (
	Severity = channel.Severity
	Finding  = channel.Finding
)

// The severities, from the lowest to the highest.
const (
	Fine    = channel.Fine
	Note    = channel.Note
	Warning = channel.Warning
	Fault   = channel.Fault
)

// Doctor checks one installation. It writes nothing.
type Doctor struct {
	Layout   groups.Layout
	Groups   []groups.Group // from the configuration
	Stores   []store.Spec   // those that serve opens
	Served   []string       // the folders of the groups that a host has served
	Metrics  string         // address of the metrics; empty: they have no address of their own
	FreeDisk int64          // limits.free_disk in bytes: space that the outbox leaves free; 0: none
	Channels []Check        // of the configured channels

	// Commands are the programs that start the assistants, by the name of the
	// assistant, and CLIs those whose agent is an agent CLI. Container is the path of the container engine's socket; it is
	// empty if no assistant runs in a container.
	Commands  map[string]string
	CLIs      map[string]bool
	Container string

	Proc string // mount point of procfs; empty: /proc
}

// Check checks one channel; running reports whether a host runs.
type Check func(ctx context.Context, running bool) []Finding

// Examine runs every check. If ctx ends, it returns the findings so far.
func (d Doctor) Examine(ctx context.Context) []Finding {
	d.Proc = cmp.Or(d.Proc, "/proc")
	client := operator.NewClient(operator.ControlDir(d.Layout))
	health := client.Health(ctx)
	if errors.Is(health, operator.ErrDenied) { // the other checks could see nothing, and would report false problems
		return found("user", Fault, health.Error(), "run the doctor as the user that the host runs as, or as root")
	}
	host := hostState(health)
	if host.running {
		host.status, _ = client.Status(ctx) // without it, what only the host knows is left out
	}
	checks := []func(context.Context, hosting) []Finding{
		d.host, d.proc, d.state, d.readable, d.disk, d.inotify, d.stores, d.queues, d.mounts, d.quarantine, d.clock, d.user, d.configured, d.metrics, d.channels, d.assistants,
	}
	var all []Finding
	for _, check := range checks {
		if ctx.Err() != nil {
			break
		}
		all = append(all, check(ctx, host)...)
	}
	return all
}

func fine(check, message string) []Finding {
	return []Finding{{Check: check, Severity: Fine, Message: message}}
}

func found(check string, s Severity, message, remedy string) []Finding {
	return []Finding{{Check: check, Severity: s, Message: message, Remedy: remedy}}
}

// realDir describes a directory. A link to a directory is an error
// (fs.ErrInvalid), since it would lead the host out of its state directory.
func realDir(path string) (fs.FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.IsDir() {
		return nil, &fs.PathError{Op: "look at", Path: path, Err: fs.ErrInvalid}
	}
	return fi, nil
}

// rel shortens a path below the state directory for a message.
func (d Doctor) rel(path string) string {
	if r, err := filepath.Rel(d.Layout.State, path); err == nil && filepath.IsLocal(r) {
		return r
	}
	return path
}

// CheckConfigFile checks the permissions of the configuration file: whoever can
// write it decides who may send what, and which directories containers see.
func CheckConfigFile(path string) []Finding {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return found("config", Fault, err.Error(), "run the doctor as the user that the host runs as")
	case fi.Mode().Perm()&0o022 != 0:
		return found("config", Fault, "others may write to the configuration (mode "+modeText(fi)+")", "chmod go-w "+path)
	}
	return fine("config", "the configuration is valid, and only its owner may change it")
}

// reason is an error without its path.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func modeText(fi fs.FileInfo) string { return strconv.FormatUint(uint64(fi.Mode().Perm()), 8) }
