package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// stores reports everything that keeps a host from opening a store, and reads
// each database completely. If a host runs, it has its stores open and reports
// on them itself, so nothing is read.
func (d Doctor) stores(ctx context.Context, h hosting) []Finding {
	var all []Finding
	for _, s := range d.Stores {
		if h.running {
			all = append(all, fine(s.Name, "the running host has the store "+s.Name+" open")...)
			continue
		}
		all = append(all, d.store(ctx, s)...)
	}
	return append(all, d.aside()...)
}

func (d Doctor) store(ctx context.Context, s store.Spec) []Finding {
	pid := lockHolder(d.Proc, filepath.Join(s.Dir, s.Lock))
	there, err := store.Examine(ctx, s, true)
	var known *store.Error
	switch {
	case pid > 0:
		return found(s.Name, Fault, fmt.Sprintf("process %d holds the %s and does not answer on the control socket", pid, s.Name),
			"it is a hanging host or another command: find it with ps, and stop it")
	case errors.As(err, &known):
		return found(s.Name, Fault, known.Message, known.Remedy)
	case err != nil:
		return found(s.Name, Fault, fmt.Sprintf("the %s's database cannot be read: %v", s.Name, err), "restore it from a backup; see docs/operations.md")
	case !there:
		return fine(s.Name, "the store "+s.Name+" does not exist yet: longshore serve creates it")
	}
	return fine(s.Name, "the database of the store "+s.Name+" is whole")
}

// aside reports files that were moved aside. They stay until an operator
// deletes them, or for a week if a sweep at the start moved them.
func (d Doctor) aside() []Finding {
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
	return found("aside", Note, fmt.Sprintf("%s were moved aside to %s: %s", media.Size(bytes), d.rel(d.Layout.Aside()), strings.Join(names, ", ")),
		"check these files and delete those that you do not need. The host deletes swept files itself after "+fmt.Sprint(store.KeepSwept))
}
