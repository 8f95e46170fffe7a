package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/state/statetest"
)

func TestChannelsOfOneStateKeepApart(t *testing.T) {
	db, ctx := statetest.Open(t, t.TempDir()), t.Context()
	gone, stays := opened(t, db), opened(t, db)
	stays.channel = "slack-home"
	for _, j := range []*Journal{gone, stays} {
		must(t, j.Keep(ctx, from("a", "anna", "1", "of "+j.channel)))
		must(t, j.Record(ctx, Sent{ID: "S", Chat: "a", Body: []byte("of " + j.channel), Created: time.Now()}))
		must(t, j.Note(ctx, "seen", j.channel))
	}
	for i := range 2 * chunk {
		must(t, gone.Keep(ctx, from("a", "anna", fmt.Sprint("more ", i), "")))
	}
	must(t, gone.Unnote(ctx, "seen"))
	must(t, gone.Clear(ctx))
	for j, want := range map[*Journal]bool{gone: false, stays: true} {
		m, err := j.Next(ctx, "a")
		must(t, err)
		sent, err := j.Sent(ctx, "S")
		must(t, err)
		noted, err := j.Noted(ctx, "seen")
		must(t, err)
		if (m != nil) != want || (sent != nil) != want || (noted != "") != want || want && (string(m.Body) != "of slack-home" || noted != "slack-home") {
			t.Errorf("%s has %+v, %+v, %q", j.channel, m, sent, noted)
		}
	}
}

// What waits is found by the index that holds it alone, however much was done before.
func TestWhatIsDoneCostsNothing(t *testing.T) {
	j := newJournal(t)
	for _, query := range []string{waiting, inboundColumns + next} {
		args := []any{"slack-work", "a"}[:strings.Count(query, "?")]
		rows, err := j.db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
		must(t, err)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			must(t, rows.Scan(&id, &parent, &unused, &step))
			plan = append(plan, step)
		}
		must(t, rows.Err())
		must(t, rows.Close())
		if got := strings.Join(plan, "; "); !strings.Contains(got, "journal_inbound_open") || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s: %s", query, got)
		}
	}
}
