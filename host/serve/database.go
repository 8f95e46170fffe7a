package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
)

const (
	databaseEvery = 5 * time.Second
	slowDatabase  = time.Second // for one small commit
)

// ofDatabase commits a change without effect, if the state's database is a server of its own, and
// finds what keeps the server from it.
func (h *Host) ofDatabase(ctx context.Context) []finding.Finding {
	if h.State == nil || !h.State.Spec.OnServer() {
		return nil
	}
	began := time.Now()
	_, err := h.State.Exec(ctx, store.Probe, began.UnixNano())
	took := time.Since(began)
	f := finding.Finding{Name: finding.State, Part: "state", Severity: finding.Fault}
	switch err = store.Words(err); {
	case err == nil && took < slowDatabase:
		return nil
	case err == nil:
		f.Severity, f.Cause = finding.Warning, fmt.Sprintf("the state's PostgreSQL is slow: a small commit took %s", took.Round(10*time.Millisecond))
		f.Remedy = "look for what occupies its machine, its disk or the way to it"
	default:
		f.Cause = fmt.Sprintf("the state's PostgreSQL takes no changes: %v", err)
		f.Remedy = remedyForDatabase(err) + "; the host goes on by itself"
	}
	return []finding.Finding{f}
}

func remedyForDatabase(err error) string {
	var known *store.Error
	switch {
	case errors.As(err, &known):
		return cmp.Or(known.Remedy, "see PostgreSQL's log")
	case errors.Is(err, store.ErrAway):
		return "start PostgreSQL; if it runs, look at the way to it, and whether max_connections leaves the host its ten"
	case errors.Is(err, store.ErrFull):
		return "free space on its disk"
	case errors.Is(err, store.ErrUnreadable):
		return "let it take writes, or name the primary in the connection string"
	}
	return "see PostgreSQL's log"
}
