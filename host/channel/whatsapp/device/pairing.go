package device

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Account returns the account whose keys a device's store holds.
func Account(ctx context.Context, device stores.Spec) (jid string, ok bool) {
	db, err := stores.Look(ctx, device)
	if err != nil || db == nil {
		return "", false
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT jid FROM whatsmeow_device LIMIT 1`).Scan(&jid)
	return jid, err == nil && jid != ""
}

// Pairing waits until another process may have paired, which shows in the sizes and times of
// the store's files, or in PostgreSQL in the account. It implements link.Waiter.
type Pairing struct {
	Spec  stores.Spec
	Every time.Duration // between two looks
}

// Wait returns when a process may have paired, or when ctx is done.
func (p Pairing) Wait(ctx context.Context) {
	before := stamps(ctx, p.Spec)
	for stamps(ctx, p.Spec) == before || inUse(p.Spec) {
		if !wake.Sleep(ctx, p.Every) {
			return
		}
	}
}

// inUse reports whether another process holds the lock at the moment.
func inUse(spec stores.Spec) bool {
	f, err := stores.Lock(spec)
	if err != nil {
		return errors.Is(err, stores.ErrLocked)
	}
	f.Close()
	return false
}

// stamps returns what changes if a process pairs.
func stamps(ctx context.Context, spec stores.Spec) (s string) {
	if spec.OnServer() {
		s, _ = Account(ctx, spec)
		return s
	}
	for _, name := range []string{spec.File, spec.File + "-wal"} {
		if info, err := os.Stat(filepath.Join(spec.Dir, name)); err == nil {
			s += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return s
}
