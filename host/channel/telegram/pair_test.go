package telegram_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/setting"
)

// pair runs "longshore pair telegram", and returns what it says.
func (w *world) pair(t testing.TB, to groups.JID) (says, account string, err error) {
	t.Helper()
	return w.link(t, channel.Pairing{To: to})
}

func (w *world) link(t testing.TB, p channel.Pairing) (says, account string, err error) {
	t.Helper()
	var out strings.Builder
	p.Screen = channeltest.Screen{Writer: &out}
	account, err = telegram.Platform().(channel.Linker).Link(t.Context(), w.ch, p)
	return out.String(), account, err
}

func (w *world) status(t testing.TB, fits func(ok bool, detail string) bool) {
	t.Helper()
	for late := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		ok, detail := w.ch.(channel.Status).Connected()
		if fits(ok, detail) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("the status is %v, %q", ok, detail)
		}
	}
}

func TestPairingBeginsWithTheGuide(t *testing.T) {
	w := newWorld(t)
	w.setup.Settings.(*telegram.Settings).Token = setting.Secret{}
	says, _, err := w.made(t).pair(t, "")
	if err == nil || !strings.Contains(says, "t.me/BotFather") || !strings.Contains(says, "token of channels.telegram") {
		t.Errorf("%v; it says %s", err, says)
	}
}

// A command does not try again by itself, as it said.
func TestPairingWithoutANetworkSaysWhatToSeeTo(t *testing.T) {
	w := newWorld(t)
	w.CloseClientConnections()
	w.Close()
	_, _, err := w.pair(t, "")
	if e := wantError(t, err, channel.Passing, "not_connected"); !strings.Contains(e.Hint, "reaches "+w.URL) || !strings.Contains(e.Hint, "run this command again") {
		t.Errorf("the hint is %q", e.Hint)
	}
}

func TestPairingFindsTheChatOfAMessageAndLeavesItToTheHost(t *testing.T) {
	w := newWorld(t)
	w.Privacy = true
	w.Tell("my_chat_member", officeID, map[string]any{"from": ada, "new_chat_member": map[string]any{"status": "member"}})
	w.Tell("message", deskID, map[string]any{"from": ada, "text": "@harbour_bot hello"})
	says, account, err := w.pair(t, "")
	if err != nil || account != "@harbour_bot" {
		t.Errorf("%q, %v", account, err)
	}
	for _, want := range []string{"privacy mode", string(desk) + " ", string(office) + " ", "Chat 1001", "--to"} {
		if !strings.Contains(says, want) {
			t.Errorf("%q is not in what it says:\n%s", want, says)
		}
	}
	in := make(inbox, 1)
	w.runTo(t, in)
	if m := <-in; m.Text != "@harbour_bot hello" {
		t.Errorf("the host hears %+v", m)
	}
	if says, _, err := w.link(t, channel.Pairing{Running: true}); err != nil || !strings.Contains(says, "the host's log names the chat") {
		t.Errorf("while the host runs: %v, %s", err, says)
	}
}

func TestPairingSendsAFile(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.pair(t, desk); err != nil {
		t.Error(err)
	}
	if all := w.WaitFor(t, deskID, 1); len(all[0].Files) != 1 || all[0].Files[0].Name != "longshore.txt" {
		t.Errorf("the chat has %+v", all)
	}
	if _, _, err := w.pair(t, "tg:-1999"); err == nil || !strings.Contains(err.Error(), "no such chat") {
		t.Errorf("to an unknown chat: %v", err)
	}
}

func TestTheDoctorNamesWhatIsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*telegramtest.Server)
		want   string
	}{
		"nothing":             {func(*telegramtest.Server) {}, "ok connects as @harbour_bot"},
		"privacy mode":        {func(s *telegramtest.Server) { s.Privacy = true }, "note the bot hears in groups only what speaks to it: privacy mode"},
		"a webhook elsewhere": {func(s *telegramtest.Server) { s.Webhook = "https://other.example/" }, "fault a webhook is set"},
		"kicked":              {func(s *telegramtest.Server) { s.Member = map[string]any{"status": "kicked"} }, "warning tg:-1001: the bot is not in the chat any more: a member adds the bot"},
		"restricted": {func(s *telegramtest.Server) {
			s.Member = map[string]any{"status": "restricted", "is_member": true, "can_send_messages": true, "can_send_documents": false}
		}, "warning tg:-1001: the bot may send no files: an admin"},
		"members may not send": {func(s *telegramtest.Server) {
			s.Rights = map[string]any{"can_send_messages": true, "can_send_photos": false}
		}, "warning tg:-1001: the bot may send no photos"},
	} {
		w := newWorld(t)
		tt.change(w.Server)
		all := ""
		for _, f := range telegram.Platform().Examine(t.Context(), w.setup, false) {
			all += fmt.Sprintf("%s %s: %s\n", f.Severity, f.Cause, f.Remedy)
		}
		if !strings.Contains(all, tt.want) {
			t.Errorf("%s: %q is not in\n%s", name, tt.want, all)
		}
	}
}

func TestABotThatWasRemovedIsRefusedUntilItIsBack(t *testing.T) {
	w := newWorld(t).run(t)
	w.Tell("my_chat_member", deskID, map[string]any{"from": ada, "new_chat_member": map[string]any{"status": "kicked", "until_date": 0}})
	w.status(t, func(ok bool, detail string) bool {
		return ok && strings.Contains(detail, "tg:-1001: the bot is not in the chat")
	})
	_, err := w.ch.Send(t.Context(), text("anybody?"))
	wantError(t, err, channel.Permanent, "not_a_member")
	w.Tell("my_chat_member", deskID, map[string]any{"from": ada, "new_chat_member": map[string]any{"status": "restricted", "is_member": true, "can_send_messages": false}})
	w.status(t, func(ok bool, detail string) bool { return strings.Contains(detail, "may not write") })
	_, err = w.ch.Send(t.Context(), text("anybody?"))
	wantError(t, err, channel.Permanent, "not_allowed")
	w.Tell("my_chat_member", deskID, map[string]any{"from": ada, "new_chat_member": map[string]any{"status": "member"}})
	w.status(t, func(ok bool, detail string) bool { return ok && !strings.Contains(detail, "tg:") })
	if _, err := w.ch.Send(t.Context(), text("back")); err != nil || w.Calls("sendMessage") != 1 {
		t.Errorf("%v after %d calls", err, w.Calls("sendMessage"))
	}
}

func TestASupergroupIsStillFollowedAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.setup.Chats = w.setup.Chats[:1]
	in := make(inbox, 1)
	t.Run("before", func(t *testing.T) {
		w.made(t).runTo(t, in)
		w.Tell("message", deskID, map[string]any{"from": ada, "migrate_to_chat_id": officeID})
		w.status(t, func(ok bool, detail string) bool { return strings.Contains(detail, "tg:-1001 is tg:-1002 now") })
	})
	w.made(t).runTo(t, in)
	w.status(t, func(ok bool, detail string) bool { return strings.Contains(detail, "tg:-1001 is tg:-1002 now") })
	if _, err := w.ch.Send(t.Context(), text("still here")); err != nil || len(w.WaitFor(t, officeID, 1)) != 1 {
		t.Error(err)
	}
	w.Tell("message", officeID, map[string]any{"from": ada, "text": "hello"})
	if m := <-in; m.Chat != desk {
		t.Errorf("it comes from %s", m.Chat)
	}
}
