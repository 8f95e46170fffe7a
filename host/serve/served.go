package serve

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/state"
)

// The state knows by their folders which groups the host has served. So a file that has
// lost its groups, or most of them, is not taken for the end of these groups.

// served are the folders of the groups that the state knows.
func (h *Host) served() []string {
	folders, err := servedIn(context.Background(), h.State.DB.DB)
	if err != nil {
		h.opts.Log.Error("the list of the groups that are served is not read", "error", err)
	}
	return folders
}

func servedIn(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT folder FROM served_group ORDER BY folder`)
	return state.All(rows, err, state.One[string])
}

// mostGone reports whether less than half of the known folders are left.
func mostGone(known, left []string) bool {
	return 2*(len(known)-len(lacking(known, left))) < len(known)
}

// lacking returns what is in all and not in have.
func lacking(all, have []string) []string {
	known := make(map[string]bool, len(have))
	for _, one := range have {
		known[one] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return known[one] })
}

// removals returns the folders of the groups that next would end, if these are so many that the
// operator has to confirm it.
func (h *Host) removals(next *config.Config) []string {
	now, left := live.Folders(h.Config()), live.Folders(next)
	gone := lacking(now, left)
	if len(gone) == 0 || !mostGone(union(h.served(), now), left) {
		return nil
	}
	return gone
}

func removalProblem(next *config.Config, gone []string) *config.Problem {
	what := "more than half of the groups are gone from the file"
	if len(next.Groups) == 0 {
		what = "the file has no groups"
	}
	return next.Problem("groups", fmt.Sprintf("%s, and these would end: %s", what, strings.Join(gone, ", ")),
		"write them into the file again; or, if they are to end: longshore reload --remove")
}

// noteServed writes the groups in force into the state. It forgets known groups that the file lacks if
// they are the smaller part, or if remove is set.
func (h *Host) noteServed(remove bool) {
	known, now := h.served(), live.Folders(h.Config())
	lost := lacking(known, now)
	if remove || !mostGone(known, now) {
		lost = nil
	}
	h.lost.Store(&lost)
	if next := union(now, lost); !slices.Equal(next, known) {
		if err := h.keepServed(lacking(next, known), lacking(known, next)); err != nil {
			h.opts.Log.Error("the list of the groups that are served is not kept", "error", err)
		}
	}
	if len(lost) > 0 {
		h.opts.Log.Warn("groups are gone from longshore.yaml; their tokens, tasks and files are kept", "groups", strings.Join(lost, ", "))
	}
}

// keepServed writes and forgets folders in one commit: half of a change would look as if groups
// were gone.
func (h *Host) keepServed(more, less []string) error {
	return h.State.Do(context.Background(), func(t *state.Tx) error {
		for _, folder := range more {
			if err := t.Exec(`INSERT INTO served_group (folder) VALUES (?) ON CONFLICT DO NOTHING`, folder); err != nil {
				return err
			}
		}
		for _, folder := range less {
			if err := t.Exec(`DELETE FROM served_group WHERE folder = ?`, folder); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// lostGroups are the folders of the groups that the state knows and the file lacks, if
// these are more than half.
func (h *Host) lostGroups() []string {
	if lost := h.lost.Load(); lost != nil {
		return *lost
	}
	return nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
