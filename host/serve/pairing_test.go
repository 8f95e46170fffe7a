package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// mute is a channel that only sends.
type mute struct {
	channel.Channel
	sent []channel.Message
	err  error
}

func (m *mute) Name() string { return "mute" }

func (m *mute) Send(_ context.Context, msg channel.Message) (channel.Receipt, error) {
	if m.err == nil {
		m.sent = append(m.sent, msg)
	}
	return channel.Receipt{ID: msg.ID}, m.err
}

// direct is a configuration in force, without a group.
func direct(what string) *live.Current {
	now := new(live.Current)
	now.Set(&live.Live{Config: &config.Config{Direct: what}})
	return now
}

func TestAnUnknownSenderGetsOneCodeAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := statetest.Open(t, t.TempDir())
		now, c := direct("pairing"), &mute{}
		d := newPairing(db, now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go d.run(ctx, []channel.Channel{c})
		write := func(chat string, age time.Duration) {
			d.report("mute", channel.UnknownChat{Chat: groups.JID(chat), From: "Ann", Time: time.Now().Add(-age)})
			synctest.Wait()
		}
		for range 10 {
			write("mem:ann", 0)
		}
		if len(c.sent) != 1 || c.sent[0].Chat != "mem:ann" || len(d.list()) != 1 {
			t.Fatalf("ten messages got %+v", c.sent)
		}
		code := regexp.MustCompile(`[A-Z2-7]{4}-[A-Z2-7]{4}`).FindString(c.sent[0].Text)
		if code == "" || code != d.list()[0].Code {
			t.Fatalf("said: %q", c.sent[0].Text)
		}
		write("mem:late", time.Hour) // written while the host was down
		now.Set(direct("off").Now())
		write("mem:bob", 0)
		now.Set(direct("pairing").Now())
		c.err = fmt.Errorf("away")
		write("mem:bob", 0)
		if len(c.sent) != 1 || len(d.list()) != 1 {
			t.Errorf("sent: %+v, %+v", c.sent, d.list())
		}
		c.err = nil

		again := newPairing(db, now, d.log) // the next host
		if got := again.list(); len(got) != 1 || got[0].Code != code {
			t.Errorf("after a restart: %+v", got)
		}
		time.Sleep(time.Hour + time.Second)
		if _, err := again.take(ctx, code); err == nil {
			t.Error("an old code counts")
		}
		write("mem:ann", 0)
		if len(c.sent) != 2 {
			t.Error("no other code after an hour")
		}
		if _, err := d.take(ctx, strings.ToLower(strings.ReplaceAll(d.list()[0].Code, "-", ""))); err != nil || len(d.list()) != 0 {
			t.Errorf("a code in small letters: %v", err)
		}
		for i := range 200 {
			write(fmt.Sprint("mem:m", i), 0)
		}
		if n := len(d.list()); n != maxCodes {
			t.Errorf("%d codes count", n)
		}
	})
}

// TestARetriedChangeWasLoggedTwice: a neighbour in the same commit had failed.
func TestARetriedChangeWasLoggedTwice(t *testing.T) {
	synctest.Test(t, retriedIsLoggedOnce)
}

func retriedIsLoggedOnce(t *testing.T) {
	db, log := statetest.Open(t, t.TempDir()), new(strings.Builder)
	p := newPairing(db, direct("pairing"), slog.New(slog.NewTextHandler(log, nil)))
	for i := range maxCodes {
		if p.give(t.Context(), unknownSender{"mute", channel.UnknownChat{Chat: groups.JID(fmt.Sprint("mem:", i))}}) == "" {
			t.Fatal("no code")
		}
	}
	end, ended := make(chan bool), make(chan error, 3)
	go func() { ended <- db.Do(t.Context(), func(*state.Tx) error { <-end; return nil }, nil) }()
	synctest.Wait()
	go func() {
		p.give(t.Context(), unknownSender{"mute", channel.UnknownChat{Chat: "mem:late"}})
		ended <- nil
	}()
	synctest.Wait()
	go func() { ended <- db.Do(t.Context(), func(*state.Tx) error { return errors.New("not this") }, nil) }()
	synctest.Wait()
	close(end)
	for range 3 {
		<-ended
	}
	if n := strings.Count(log.String(), "too many"); n != 1 {
		t.Errorf("logged %d times: %s", n, log)
	}
}

// TestAKillLeftTheHostWithFewerServedGroups: the new ones came in a later commit.
func TestAKillLeftTheHostWithFewerServedGroups(t *testing.T) {
	h := &Host{State: statetest.Open(t, t.TempDir()), opts: Options{Log: slog.New(slog.DiscardHandler)}}
	set := func(folders ...string) {
		c := &config.Config{}
		for _, f := range folders {
			c.Groups = append(c.Groups, groups.Group{Folder: f})
		}
		h.Set(&live.Live{Config: c})
		h.noteServed(true)
	}
	set("a", "b")
	if _, err := h.State.Exec(t.Context(), `CREATE TRIGGER ends BEFORE INSERT ON served_group BEGIN SELECT RAISE(ABORT, 'here it ends'); END`); err != nil {
		t.Fatal(err)
	}
	set("c")
	if got := h.served(); len(got) != 2 {
		t.Errorf("served: %q", got)
	}
}
