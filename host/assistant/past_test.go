package assistant

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func TestPastMessagesSurviveACrashAndFollowEditsAndDeletions(t *testing.T) {
	m := &Manager{o: Options{Log: slog.New(slog.DiscardHandler)}}
	dir := t.TempDir()
	at := time.Now().Add(-time.Hour)
	open := func() *chat { return &chat{history: &history{path: filepath.Join(dir, historyFile)}} }
	c := open()
	message := func(id, text string) *record {
		at = at.Add(time.Second)
		return &record{Kind: callKind, ID: id, From: "Ann", Text: text, Time: at}
	}
	m.remember(c, []*record{message("1", "one"), message("2", "two"), {Kind: noticeKind, Text: "the host's"}})
	m.remember(c, []*record{message("3", "three"), message("2", "two")}) // a turn that was tried again
	m.rememberChange(c, channel.Inbound{Kind: channel.KindEdit, Target: "1", Text: "uno"}, "")
	m.rememberChange(c, channel.Inbound{Kind: channel.KindDeletion, Target: "3"}, "")
	m.rememberChange(c, channel.Inbound{Kind: channel.KindReaction, Target: "2", Emoji: "x"}, "")
	f, err := os.OpenFile(c.history.path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("\n{\"id\": \"torn") // the machine died here
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	c = open()
	m.remember(c, []*record{message("4", "four")})
	old := message("5", "of long ago")
	old.Time = time.Now().Add(-pastAge - time.Hour)
	m.remember(c, []*record{old})
	all, err := c.history.read()
	var got []string
	for _, p := range all {
		got = append(got, p.ID+" "+p.Text)
	}
	if want := "1 uno, 2 two, 4 four"; err != nil || strings.Join(got, ", ") != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// Platforms tell times in seconds: what a member sent within one was listed backwards.
func TestMessagesOfOneSecondAreListedInTheirOrder(t *testing.T) {
	m, c := &Manager{o: Options{Log: slog.New(slog.DiscardHandler)}}, &chat{history: &history{path: filepath.Join(t.TempDir(), historyFile)}}
	at := time.Now().Truncate(time.Second)
	for _, id := range []string{"1", "2", "3"} {
		m.remember(c, []*record{{Kind: callKind, ID: id, From: "Ann", Text: "x", Time: at}})
	}
	if all, err := c.history.read(); err != nil || len(all) != 3 || all[0].ID != "1" || all[2].ID != "3" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestPastMessagesTakeBoundedRoom(t *testing.T) {
	m := &Manager{o: Options{Log: slog.New(slog.DiscardHandler)}}
	c := &chat{history: &history{path: filepath.Join(t.TempDir(), historyFile)}}
	long := strings.Repeat("x", 5000)
	for i := range 3000 {
		m.remember(c, []*record{{Kind: callKind, ID: fmt.Sprint(i), Text: long, Time: time.Now()}})
	}
	info, err := os.Stat(c.history.path)
	if err != nil || info.Size() > fullHistory+pastText*2 {
		t.Errorf("%v, %v", info, err)
	}
	all, err := c.history.read()
	if n := len(all); err != nil || n < 500 || n > maxHistory || all[n-1].ID != "2999" || len(all[0].Text) > pastText+10 {
		t.Errorf("%d messages, %v", n, err)
	}
}

// A member deletes or edits a message before a turn is given it, and another member
// cannot put words into its writer's mouth.
func TestADeletedMessageIsNotListedIfATurnIsGivenItLater(t *testing.T) {
	m := &Manager{o: Options{Log: slog.New(slog.DiscardHandler)}}
	c := &chat{history: &history{path: filepath.Join(t.TempDir(), historyFile)}}
	at := time.Now().Add(-time.Hour)
	ann := func(id, text string) *record {
		return &record{Kind: callKind, ID: id, From: "Ann", Sender: "ann", Text: text, Time: at}
	}
	m.rememberChange(c, channel.Inbound{Kind: channel.KindDeletion, Target: "1"}, "ann")
	m.rememberChange(c, channel.Inbound{Kind: channel.KindEdit, Target: "1", Text: "back again"}, "ann")
	m.rememberChange(c, channel.Inbound{Kind: channel.KindEdit, Target: "2", Text: "mended"}, "ann")
	m.rememberChange(c, channel.Inbound{Kind: channel.KindEdit, Target: "3", Text: "forged"}, "bob")
	m.remember(c, []*record{ann("1", "secret"), ann("2", "draft"), ann("3", "her own")})
	all, err := c.history.read()
	if err != nil || len(all) != 2 || all[0].Text == all[1].Text {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, p := range all {
		if want := map[string]string{"2": "mended", "3": "her own"}[p.ID]; p.Text != want {
			t.Errorf("%s is %q, want %q", p.ID, p.Text, want)
		}
	}
}

// Fetches hold up the queue of the group that asks, so only some go at once.
func TestManyFetchesAtOnceAreRefusedForAMoment(t *testing.T) {
	m := &Manager{bringing: make(chan struct{}, 1)}
	m.bringing <- struct{}{}
	_, err := m.bringAgain(t.Context(), nil, file{Ref: "r"})
	if r := refusal.Of(err); r == nil || r.Code != "fetch_busy" || r.Hint == "" {
		t.Errorf("%v", err)
	}
}
