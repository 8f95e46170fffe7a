package serve

import (
	"log/slog"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// Rows of a channel that had left longshore.yaml were never deleted.
func TestRowsOfAFormerChannelStayedForEver(t *testing.T) {
	db := statetest.Open(t, t.TempDir())
	h := &Host{State: db}
	h.opts.Log = slog.New(slog.DiscardHandler)
	page := web.Platform()
	now, err := live.New(&config.Config{
		Platforms: []channel.Platform{page},
		Channels:  config.Channels{{Name: "page", Platform: page, Settings: page.Settings()}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Current.Set(now)
	old := time.Now().AddDate(-2, 0, 0)
	for _, name := range []string{"page", "former"} {
		if _, err := db.Exec(t.Context(), `INSERT INTO page_message (channel, chat, id, key, author, sender, assistant, time, reply_to, quote, forwarded, status, file, blob, size, text, tree, short, poll)
			VALUES (?, 'family', 'one', '', '', 'Ada', 0, ?, '', '', '', 'delivered', '', '', 0, '', '', '', '')`, name, old.UnixMilli()); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `INSERT INTO journal_sent (channel, id, chat, message, note, created) VALUES (?, 'one', 'family', '', '', ?)`, journal.Key("web", name), old.UnixNano()); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.forgetFormer(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		`SELECT COALESCE(group_concat(channel), '') FROM page_message`: "page", `SELECT COALESCE(group_concat(channel), '') FROM journal_sent`: "web/page",
	} {
		var left string
		if err := db.QueryRow(query).Scan(&left); err != nil || left != want {
			t.Errorf("%s: %q %v", query, left, err)
		}
	}
}
