package page

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

const threeGroups = `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
groups:
  - {name: One, folder: one, chat: "web:one"}
  - {name: Two, folder: two, chat: "web:two"}
  - {name: Three, folder: three, chat: "web:three"}
`

// twoGone is threeGroups without two of its groups, noneLeft without any.
var (
	twoGone  = threeGroups[:strings.Index(threeGroups, "  - {name: Two")]
	noneLeft = threeGroups[:strings.Index(threeGroups, "groups:")]
)

// A file that had lost its groups was valid, and a reload ended every group.
func TestAReloadWithoutGroupsEndedAllGroups(t *testing.T) {
	h := stage.NewChanging(t, threeGroups)
	served := func() (all []string) {
		s, err := h.Client.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range s.Groups {
			all = append(all, g.Folder)
		}
		slices.Sort(all)
		return all
	}
	for _, text := range []string{noneLeft, noneLeft + "groups: []\n", twoGone} {
		h.Write(text)
		r, err := h.Client.Reload(t.Context(), false) // as SIGHUP does
		if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "longshore reload --remove") || len(r.Removes) < 2 {
			t.Errorf("%+v, %v", r, err)
		}
		if got := served(); len(got) != 3 {
			t.Fatalf("serves %v", got)
		}
	}
	h.Write(strings.Replace(threeGroups, `  - {name: Two, folder: two, chat: "web:two"}`+"\n", "", 1))
	if r, err := h.Client.Reload(t.Context(), false); err != nil || len(r.Problems) > 0 { // one of three
		t.Errorf("%+v, %v", r, err)
	}
	h.Write(noneLeft)
	if r, err := h.Client.Reload(t.Context(), true); err != nil || len(r.Problems) > 0 || len(served()) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A start without most of the groups said nothing of it.
func TestAStartWithoutGroupsSaidNothing(t *testing.T) {
	h := stage.NewChangingWith(t, func(dir string) string {
		layout := groups.Layout{State: filepath.Join(dir, "state")}
		db, err := state.Open(t.Context(), state.Spec(layout.Own(), store.Home{Installation: layout.Installation(), Aside: layout.Aside()}), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), "INSERT INTO served_group (folder) VALUES ('one'), ('three'), ('two')"); errors.Join(err, db.Close()) != nil {
			t.Fatal(err)
		}
		return twoGone
	})
	gone := func() bool {
		s, err := h.Client.Status(t.Context())
		if err != nil || len(s.Groups) == 0 {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, f := range s.Findings {
			if f.Name == "groups_gone" && strings.Contains(f.Cause, "three, two") {
				return true
			}
		}
		return false
	}
	if !gone() {
		t.Error("no fault")
	}
	h.Write(strings.Replace(twoGone, "1MB", "2MB", 1)) // another change ends no group
	if r, err := h.Client.Reload(t.Context(), false); err != nil || len(r.Problems) > 0 || !gone() {
		t.Errorf("%+v, %v", r, err)
	}
	h.Write(threeGroups)
	if r, err := h.Client.Reload(t.Context(), false); err != nil || len(r.Problems) > 0 || gone() {
		t.Errorf("they are back: %+v, %v", r, err)
	}
}
