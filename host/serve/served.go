package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// served returns the folders of the groups that the host has served, which the state remembers so that a
// file which has lost most of its groups does not end these groups.
func (h *Host) served() (folders []string) {
	data, err := os.ReadFile(h.Layout.Served())
	if err != nil || json.Unmarshal(data, &folders) != nil {
		return nil // the first start, or a damaged file: noteServed writes it anew
	}
	return folders
}

// mostGone reports whether less than half of the known folders are left.
func mostGone(known, left []string) bool {
	return 2*(len(known)-len(lacking(known, left))) < len(known)
}

// lacking returns what is in all and not in have.
func lacking(all, have []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(have, one) })
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
		data, err := json.Marshal(next)
		if err == nil {
			err = safefs.WriteFile(h.Layout.Served(), data, 0o600)
		}
		if err != nil {
			h.opts.Log.Error("the list of the groups that are served is not kept", "error", err)
		}
	}
	if len(lost) > 0 {
		h.opts.Log.Warn("groups are gone from longshore.yaml; their tokens, tasks and files are kept", "groups", strings.Join(lost, ", "))
	}
}

// LostGroups returns the folders of the groups that the state knows and the file lacks, if these are
// more than half.
func (h *Host) LostGroups() []string {
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
