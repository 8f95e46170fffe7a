package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// stores looks for all that keeps a host from opening a store, and reads each
// database whole. A running host is left alone: it has its stores open and
// reports on itself.
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
		return found(s.Name, Fault, fmt.Sprintf("process %d holds the %s and answers no control socket", pid, s.Name),
			"a host that hangs, or another command at work: look at it with ps, and stop it")
	case errors.As(err, &known):
		return found(s.Name, Fault, known.Message, known.Remedy)
	case err != nil:
		return found(s.Name, Fault, fmt.Sprintf("the %s's database cannot be read: %v", s.Name, err), "restore it from a backup; see docs/operations.md")
	case !there:
		return fine(s.Name, "the store "+s.Name+" is not made yet: longshore serve makes it")
	}
	return fine(s.Name, "the database of the store "+s.Name+" is whole")
}

// aside counts what was put aside: it stays until an operator deletes it, or
// for a week if a start has swept it.
func (d Doctor) aside() []Finding {
	entries, err := os.ReadDir(d.Layout.Aside())
	if err != nil || len(entries) == 0 {
		return nil
	}
	var bytes int64
	var names []string
	for _, e := range entries {
		bytes += store.Size(filepath.Join(d.Layout.Aside(), e.Name()))
		names = append(names, fmt.Sprintf("%q", e.Name()))
	}
	return found("aside", Note, fmt.Sprintf("%s were put aside in %s: %s", media.Size(bytes), d.rel(d.Layout.Aside()), strings.Join(names, ", ")),
		"look through it; delete what is not needed. What a start has swept goes by itself after "+fmt.Sprint(store.KeepSwept))
}
