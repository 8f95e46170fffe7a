package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// stores reports everything that keeps a host from opening a store, and reads
// each database completely. A running host has its stores open and notices itself.
func (d Doctor) stores(ctx context.Context) (all []finding.Finding) {
	for _, s := range d.Stores {
		if !d.Running {
			all = append(all, d.store(ctx, s, true)...)
		}
	}
	return all
}

// readTime is how long all databases are read for who cannot wait. Of one that takes longer, nothing is said.
const readTime = time.Second

// opened is stores, and reads no more of the databases than a start does.
func (d Doctor) opened(ctx context.Context) (all []finding.Finding) {
	for _, s := range d.Stores {
		all = append(all, d.store(ctx, s, false)...)
	}
	return all
}

func (d Doctor) store(ctx context.Context, s store.Spec, deep bool) []finding.Finding {
	pid := store.LockHolder(d.Proc, filepath.Join(s.Dir, s.Lock))
	there, err := store.Examine(ctx, s, deep)
	var known *store.Error
	switch {
	case (errors.Is(err, store.ErrUnreadable) || errors.Is(err, store.ErrMarker)) && slices.ContainsFunc(each(ctx, d, Doctor.state, Doctor.usable), func(f finding.Finding) bool { return f.Name == finding.State }):
		return nil // these name the file
	case ctx.Err() != nil:
		return nil
	case pid > 0:
		return found(finding.Locked, s.Name, finding.Fault, fmt.Sprintf("process %d holds the %s and does not answer on the control socket", pid, s.Name),
			fmt.Sprintf("it is a hanging host or another command: look at it with ps %d, and stop it with kill %d", pid, pid))
	case errors.As(err, &known):
		return found(known.Finding(), s.Name, finding.Fault, known.Message, known.Remedy)
	case err != nil:
		return found(finding.Damaged, s.Name, finding.Fault, fmt.Sprintf("the %s's database cannot be read: %v", s.Name, err), "restore it from a backup with longshore restore, as docs/operations.md says")
	case !there:
		return well(s.Name, "the store "+s.Name+" does not exist yet: longshore serve creates it")
	}
	return well(s.Name, "the database of the store "+s.Name+" is whole")
}

// aside reports files that were moved aside. They stay until an operator
// deletes them, or for a week if a sweep at the start moved them.
func (d Doctor) aside(context.Context) []finding.Finding {
	entries, err := safefs.ReadDir(d.Layout.Aside())
	if err != nil || len(entries) == 0 {
		return nil
	}
	var bytes int64
	var names []string
	for _, e := range entries {
		bytes += store.Size(filepath.Join(d.Layout.Aside(), e.Name()))
		names = append(names, fmt.Sprintf("%q", e.Name()))
	}
	return found(finding.Aside, "aside", finding.Note, fmt.Sprintf("%s were moved aside to %s: %s", media.Size(bytes), d.rel(d.Layout.Aside()), strings.Join(names, ", ")),
		"check these files and delete those that you do not need. The host deletes swept files itself after "+fmt.Sprint(store.KeepSwept))
}
