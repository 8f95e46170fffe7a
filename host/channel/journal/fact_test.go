package journal

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/state/statetest"
)

func TestFactsOutliveTheHostAndTheLatestStay(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	j := opened(t, db)
	for _, n := range []string{"1", "2", "3"} {
		must(t, j.Note(t.Context(), "file "+n, "was "+n))
	}
	must(t, j.Note(t.Context(), "file 1", "is 1"))
	must(t, j.Note(t.Context(), "moved 1", "-100"))
	must(t, j.Trim(t.Context(), "file ", 2))
	j = opened(t, db)
	all, err := j.AllNoted(t.Context(), "file ")
	if diff := cmp.Diff(map[string]string{"1": "is 1", "3": "was 3"}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	must(t, j.Unnote(t.Context(), "file 1"))
	for key, want := range map[string]string{"file 1": "", "file 2": "", "moved 1": "-100"} {
		if got, err := j.Noted(t.Context(), key); got != want || err != nil {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
}
