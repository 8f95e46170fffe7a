package turns_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/turns"
)

// Each word by each role, under each rule.
func TestWhoMayUseWhichWord(t *testing.T) {
	type rule = groups.Members
	const refused, obeyed = "You may not stop", "The assistant was stopped"
	for name, tt := range map[string]struct {
		rule      rule
		member    channel.Inbound
		stop, new bool
	}{
		"by default, a member":              {rule{}, channel.Inbound{Sender: "bob", Role: channel.RoleMember}, true, false},
		"by default, an admin":              {rule{}, channel.Inbound{Sender: "bob", Role: channel.RoleAdmin}, true, true},
		"by default, one without a role":    {rule{}, channel.Inbound{Sender: "bob"}, true, false},
		"one who calls herself admin":       {rule{Stop: groups.Who{"admins"}}, channel.Inbound{From: "admin", Sender: "bob"}, false, false},
		"one with the name of an id":        {rule{Stop: groups.Who{"U1"}}, channel.Inbound{From: "U1", Sender: "U2"}, false, false},
		"a named one":                       {rule{Stop: groups.Who{"U1"}, New: groups.Who{"U1"}}, channel.Inbound{Sender: "U1", Role: channel.RoleMember}, true, true},
		"a number beside a hidden id":       {rule{New: groups.Who{"+4915100000001"}}, channel.Inbound{Sender: "1@lid", Also: "4915100000001@s.whatsapp.net"}, true, true},
		"a hidden id like a number":         {rule{Stop: groups.Who{"4915100000001"}}, channel.Inbound{Sender: "4915100000001@lid"}, false, false},
		"one who may speak may begin":       {rule{New: groups.Who{"speak"}}, channel.Inbound{Sender: "bob", Role: channel.RoleMember}, true, true},
		"nobody vouches, and ids are named": {rule{Stop: groups.Who{"U1"}}, channel.Inbound{}, false, false},
	} {
		for word, want := range map[string]bool{"/stop": tt.stop, "/new": tt.new} {
			synctest.Test(t, func(t *testing.T) {
				g := group("family")
				g.Members = tt.rule
				w := newWorld(t, nil, g)
				w.run()
				w.admin("1", "work")
				a := w.runtime.next()
				in := tt.member
				in.ID, in.Text = "2", word
				w.writes("family", in)
				if a.stopped.Load() != want || len(w.texts()) != 1 {
					t.Errorf("%s, %s: stopped %v; said: %q", name, word, a.stopped.Load(), w.texts())
				}
			})
		}
	}
}

// Nothing of one who may not speak reaches the assistant, in no form, and the chat is
// told so once, over restarts.
func TestNothingOfOneWhoMayNotSpeakIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger, g.Members.Speak = "@Andy", groups.Who{"U1"}
		w := newWorld(t, nil, g)
		end := w.run()
		mallory := channel.Inbound{Sender: "U2", Role: channel.RoleAdmin, From: "U1"}
		for i, in := range []channel.Inbound{
			{Text: "evil words between"}, {Text: "@Andy evil call"}, {Text: "evil reply", Direct: true}, {Text: "/status"}, {Text: "/stop"},
			{Text: "evil file", Files: []channel.Attachment{w.lay("evil.txt", "evil")}}, {Kind: channel.KindEdit, Target: "1", Text: "@Andy evil edit"},
			{Kind: channel.KindLocation, Text: "@Andy evil place"},
		} {
			in.ID, in.Sender, in.Role, in.From = fmt.Sprint(i), mallory.Sender, mallory.Role, mallory.From
			w.writes("family", in)
		}
		if w.runtime.next() != nil || w.kept("family") != 0 {
			t.Error("it was kept")
		}
		if got := w.texts(); len(got) != 1 || !strings.Contains(got[0], "does not read your messages") {
			t.Errorf("said: %q", got)
		}
		end()
		w = w.restart()
		w.run()
		w.writes("family", channel.Inbound{ID: "20", Sender: "U2", Text: "@Andy evil again"})
		w.writes("family", channel.Inbound{ID: "21", Sender: "U1", Text: "@Andy what is this?", Quote: &channel.Quote{ID: "0", From: "Mallory", Sender: "U2", Text: "evil quote"}})
		a := w.runtime.next()
		if a == nil || strings.Contains(a.input.Prompt, "evil") || !strings.Contains(a.input.Prompt, `reply_to="0"`) {
			t.Errorf("the assistant reads %+v", a)
		}
		if got := w.texts(); len(got) != 1 {
			t.Errorf("said: %q", got)
		}
	})
}

// The platform is asked for a role only if that decides, and a message waits while it
// does not answer.
func TestARoleThatTheChannelDoesNotKnowIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, role, err := 0, channel.RoleUnknown, errors.New("away")
		g := group("family")
		g.Members.Speak = groups.Who{"admins"}
		w := newWorld(t, func(o *options) {
			o.Role = func(context.Context, groups.Address, string) (channel.Role, error) { asked++; return role, err }
		}, g)
		w.run()
		in := channel.Inbound{ID: "1", Chat: "web:family", Sender: "bob", Text: "hello", Time: time.Now()}
		if err := w.m.Receive(t.Context(), "family", in); err == nil || w.kept("family") != 0 {
			t.Fatal("a message was taken from somebody nobody knows")
		}
		role, err = channel.RoleAdmin, nil
		w.writes("family", in)
		if w.runtime.next() == nil || asked != 2 {
			t.Errorf("asked %d times", asked)
		}
		w.admin("2", "hello")
		if asked != 2 {
			t.Error("asked for what the channel has said")
		}
	})
}

func TestAFloodOfWordsIsAnsweredAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.run()
		for i := range 500 {
			w.writes("family", channel.Inbound{ID: fmt.Sprint("m", i), Sender: "mallory", Text: []string{"/status", "/help", "/stop", "/new"}[i%4]})
		}
		if n := len(w.texts()); n > 3 {
			t.Errorf("one member gets %d answers at once", n)
		}
		for i := range 500 {
			w.writes("family", channel.Inbound{ID: fmt.Sprint("n", i), Sender: fmt.Sprint("member ", i), Text: "/status"})
		}
		if n := len(w.texts()); n > 8 {
			t.Errorf("a chat gets %d answers at once", n)
		}
		if w.kept("family") != 0 {
			t.Error("a flood is kept")
		}
		w.writes("family", channel.Inbound{ID: "x", Sender: "ann", Text: "work"})
		a := w.runtime.next()
		w.writes("family", channel.Inbound{ID: "y", Sender: "mallory", Text: "/stop"})
		synctest.Wait()
		if !a.stopped.Load() || !strings.HasPrefix(w.lastSaid(), "The assistant was stopped") {
			t.Error("after a flood nobody can stop it, or hears of it")
		}
	})
}

func TestStatusSaysWhoAnswersAndWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := group("family")
		g.Trigger = "@Andy"
		w := newWorld(t, func(o *options) {
			o.Plan = func(groups.Group) (turns.Plan, error) {
				return turns.Plan{Name: "Andy", Agent: "claude", Model: "sonnet"}, nil
			}
		}, g)
		w.run()
		w.admin("1", "/status")
		has(t, w.lastSaid(), "Andy answers here (claude, model sonnet).", "`@Andy`", "It waits for a message.")
		w.admin("2", "@Andy work")
		a := w.runtime.next()
		time.Sleep(3 * time.Minute)
		w.admin("3", "/status")
		has(t, w.lastSaid(), "It has been working for 3 minutes.")
		w.runtime.refuses(errors.New("/host/path is secret"))
		a.exit(errors.New("/host/path is secret"))
		time.Sleep(time.Second)
		w.admin("4", "/status")
		has(t, w.lastSaid(), "The last attempt failed; the next one begins in")
		if strings.Contains(w.lastSaid(), "/host") {
			t.Error("a member reads a path of the host")
		}
		w.writes("family", channel.Inbound{ID: "5", Sender: "bob", Text: "/help"})
		if got := w.lastSaid(); strings.Contains(got, "/new") || !strings.Contains(got, "`/stop`") {
			t.Errorf("help for one who may not begin anew: %q", got)
		}
	})
}
