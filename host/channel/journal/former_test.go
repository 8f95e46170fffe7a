package journal

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// A channel that was taken out of longshore.yaml left its messages for ever.
func TestMessagesOfAFormerChannelStayedForEver(t *testing.T) {
	db, ctx := statetest.Open(t, t.TempDir()), t.Context()
	const day = 24 * time.Hour
	for _, channel := range []string{"former", "slack", "zulip"} {
		j, err := Open(ctx, db, channel, channel, Options{})
		must(t, err)
		for id, age := range map[string]time.Duration{"new": day, "old": 8 * day, "ancient": 366 * day} {
			at := time.Now().Add(-age)
			must(t, j.Record(ctx, Sent{ID: id, Chat: "1@g.us", Body: []byte("x"), Created: at}))
			in := from("1@g.us", "ann", id, "x")
			in.Received = at
			must(t, j.Keep(ctx, in))
			must(t, j.exec(ctx, "note", `INSERT INTO journal_fact (channel, key, value, used) VALUES (?, ?, '', ?)`, channel, id, at.UnixNano()))
		}
	}
	must(t, ForgetFormer(ctx, db, []string{"slack"}))
	for channel, want := range map[string]int{"former": 1 + 2 + 2, "slack": 9, "zulip": 1 + 2 + 2} {
		var n int
		must(t, db.QueryRow(`SELECT (SELECT COUNT(*) FROM journal_sent WHERE channel = ?1) + (SELECT COUNT(*) FROM journal_inbound WHERE channel = ?1)
			+ (SELECT COUNT(*) FROM journal_fact WHERE channel = ?1)`, channel).Scan(&n))
		if n != want {
			t.Errorf("%s has %d rows, want %d", channel, n, want)
		}
	}
}
