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
	stays.channel = "slack/slack-home"
	for _, j := range []*Journal{gone, stays} {
		must(t, j.Keep(ctx, from("a", "anna", "1", "of "+j.channel)))
		must(t, j.Record(ctx, Sent{ID: "S", Chat: "a", Body: []byte("of " + j.channel), Created: time.Now()}))
		must(t, j.Note(ctx, "seen", j.channel))
	}
	for i := range 2 * chunk {
		must(t, gone.Keep(ctx, from("a", "anna", fmt.Sprint("more ", i), "")))
	}
	must(t, gone.Clear(ctx))
	for j, want := range map[*Journal]bool{gone: false, stays: true} {
		m, err := j.Next(ctx, "a")
		must(t, err)
		sent, err := j.Sent(ctx, "S")
		must(t, err)
		noted, err := j.Noted(ctx, "seen")
		must(t, err)
		if (m != nil) != want || (sent != nil) != want || (noted != "") != want || want && (string(m.Body) != "of slack/slack-home" || noted != "slack/slack-home") {
			t.Errorf("%s has %+v, %+v, %q", j.channel, m, sent, noted)
		}
	}
}

// TestASlackChannelGotTheMessagesOfATelegramChannel, whose name it had taken over.
func TestASlackChannelGotTheMessagesOfATelegramChannel(t *testing.T) {
	db, ctx := statetest.Open(t, t.TempDir()), t.Context()
	for _, platform := range []string{"telegram", "slack", "work"} {
		j, err := Open(ctx, db, platform, "work", Options{})
		must(t, err)
		if m, err := j.Next(ctx, "a"); m != nil || err != nil {
			t.Errorf("%s found %+v, %v", platform, m, err)
		}
		must(t, j.Keep(ctx, from("a", "anna", "1", "of "+platform)))
		if m, err := j.Next(ctx, "a"); err != nil || m == nil || string(m.Body) != "of "+platform {
			t.Errorf("%s has %+v, %v", platform, m, err)
		}
	}
}

// TestAKillLeftHalfOfAnOldAccount: each commit of Clear took some of its messages.
func TestAKillLeftHalfOfAnOldAccount(t *testing.T) {
	statetest.SQLiteOnly(t, "a trigger makes it fail")
	j, ctx := newJournal(t), t.Context()
	for i := range 2 * chunk {
		must(t, j.Keep(ctx, from("a", "anna", fmt.Sprint(i), "")))
	}
	must(t, j.Record(ctx, Sent{ID: "S", Chat: "a", Body: []byte("ours"), Created: time.Now()}))
	_, err := j.db.Exec(ctx, `CREATE TRIGGER ends BEFORE DELETE ON journal_inbound WHEN old.id = '150' BEGIN SELECT RAISE(ABORT, 'here it ends'); END`)
	must(t, err)
	if err := j.Clear(ctx); err == nil {
		t.Error("cleared")
	}
	var left int
	must(t, j.db.QueryRow(`SELECT (SELECT count(*) FROM journal_inbound) + (SELECT count(*) FROM journal_sent)`).Scan(&left))
	if left != 2*chunk+1 {
		t.Errorf("%d messages are left", left)
	}
}

// What waits is found by the index that holds it alone, however much was done before.
func TestWhatIsDoneCostsNothing(t *testing.T) {
	statetest.SQLiteOnly(t, "it reads the plan of SQLite")
	j := newJournal(t)
	for _, query := range []string{waiting, inboundColumns + next} {
		args := []any{j.channel, "a"}[:strings.Count(query, "?")]
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
