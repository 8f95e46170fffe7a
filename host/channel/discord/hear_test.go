package discord_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
)

func TestWhoSpeaksToTheAssistant(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	r, err := w.ch.Send(t.Context(), w.text("the plan"))
	if err != nil {
		t.Fatal(err)
	}
	desk, none := id(w.desk), discordtest.Says{}
	thread := w.AddThread(desk, "a thread")
	for i, tt := range []struct {
		channel, user, text string
		says                discordtest.Says
		chat                groups.JID
		want                channel.Inbound
	}{
		{desk, w.ada, "to all", none, w.desk, channel.Inbound{Text: "to all", Role: channel.RoleMember}},
		{desk, w.Owner(), "<@1002> look", discordtest.Says{Mentions: []string{"1002"}}, w.desk, channel.Inbound{Text: "@longshore look", Direct: true, Role: channel.RoleAdmin}},
		{desk, w.ada, "<@1002>: Stop", discordtest.Says{Mentions: []string{"1002"}}, w.desk, channel.Inbound{Text: "@longshore: Stop", Direct: true, Command: "stop", Role: channel.RoleMember}},
		{desk, w.ada, "stop", none, w.desk, channel.Inbound{Text: "stop", Role: channel.RoleMember}},
		{desk, w.ada, "why?", discordtest.Says{ReplyTo: r.ID}, w.desk, channel.Inbound{Text: "why?", Direct: true, Role: channel.RoleMember, Quote: &channel.Quote{ID: r.ID, Text: "the plan", Own: true}}},
		{thread, w.ada, "in here", none, w.desk, channel.Inbound{Text: "in here", Thread: thread, Role: channel.RoleMember}},
		{id(w.direct), w.ada, "psst", none, w.direct, channel.Inbound{Text: "psst", Direct: true, Role: channel.RoleAdmin}},
	} {
		w.Post(tt.channel, tt.user, tt.text, tt.says)
		got := in.Wait(t, i+1)[i]
		if got.Chat != tt.chat || got.Text != tt.want.Text || got.Direct != tt.want.Direct || got.Thread != tt.want.Thread || got.Role != tt.want.Role || got.Command != tt.want.Command || got.Sender != tt.user {
			t.Errorf("%q came in as %+v", tt.text, got)
		}
		if q, want := got.Quote, tt.want.Quote; want != nil && (q == nil || q.ID != want.ID || q.Text != want.Text || !q.Own) {
			t.Errorf("%q quotes %+v", tt.text, q)
		}
	}
}

func TestAResumedSessionBringsWhatWasWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	for i, gone := range []func(){w.Drop, w.Reconnect, w.Drop} {
		gone()
		w.Post(id(w.desk), w.ada, "meanwhile", discordtest.Says{})
		in.Wait(t, i+1)
	}
	if n, m := w.Calls("identify"), w.Calls("resume"); n != 1 || m == 0 {
		t.Errorf("%d sessions were begun and %d resumed", n, m)
	}
}

func TestANewSessionAsksForWhatWasWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	w.Post(id(w.desk), w.ada, "before", discordtest.Says{})
	in.Wait(t, 1)
	w.Forget()
	w.Post(id(w.desk), w.ada, "meanwhile", discordtest.Says{})
	w.Post(id(w.direct), w.ada, "in private", discordtest.Says{})
	got := in.Wait(t, 3)
	if n := w.Calls("identify"); len(got) != 3 || n != 2 {
		t.Errorf("%d sessions were begun; came in %+v", n, got)
	}
}

func TestAfterARestartTheChatsAreAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, stop := w.run(t)
	w.Post(id(w.desk), w.ada, "before", discordtest.Says{})
	in.Wait(t, 1)
	stop()
	w.Post(id(w.desk), w.ada, "while the host was away", discordtest.Says{})
	in, _ = w.made(t).run(t)
	if got := in.Wait(t, 1); got[0].Text != "while the host was away" {
		t.Errorf("came in %+v", got)
	}
}

func TestAnInvalidSessionIsBegunAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Invalidate(false)
	in, _ := w.run(t)
	w.status(t, func(ok bool, _ string) bool { return ok })
	w.Invalidate(true, false)
	w.Drop()
	w.Post(id(w.desk), w.ada, "meanwhile", discordtest.Says{})
	in.Wait(t, 1)
}

func TestWithoutContentTheStatusSaysHowToMendIt(t *testing.T) {
	w := newWorld(t)
	w.Flags = 0
	w.run(t)
	if detail := w.status(t, func(ok bool, _ string) bool { return ok }); !strings.Contains(detail, "https://discord.com/developers/applications/1003/bot") {
		t.Errorf("the status is %q", detail)
	}
}

func TestARefusedTokenStopsTheChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Token = "MTAwMg.another.one"
	w.run(t)
	detail := w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "token") })
	_, err := w.ch.Send(t.Context(), w.text("hello"))
	is(t, "Send", err, channel.Held, "discord_token_refused")
	if !strings.Contains(detail, "discord.com/developers") {
		t.Errorf("the status is %q", detail)
	}
}

func TestAnAddressThatHasEndedIsAskedFor(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	w.Post(id(w.desk), w.ada, "", discordtest.Says{Name: "a.txt", MIME: "text/plain", Data: []byte("content")})
	m := in.Wait(t, 1)[0]
	w.Renew()
	body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if data, err := io.ReadAll(body); err != nil || !bytes.Equal(data, []byte("content")) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestAMembersFileIsFetchedFromDiscordAlone(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the host asked another server") }))
	defer elsewhere.Close()
	w := newWorld(t)
	in, _ := w.run(t)
	for i, address := range []string{elsewhere.URL + "/a.txt", "https://cdn.discordapp.com.evil.example/a.txt", "http://169.254.169.254/", "file:///etc/passwd", "no address"} {
		w.Post(id(w.desk), w.ada, "", discordtest.Says{Name: "a.txt", MIME: "text/plain", Data: []byte("content"), URL: address})
		m := in.Wait(t, i+1)[i]
		_, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref})
		is(t, address, err, channel.Permanent, "not_fetchable")
	}
}

func TestADirectMessageOfAStrangerKnocks(t *testing.T) {
	w := newWorld(t)
	knocks := make(chan channel.UnknownChat, 1)
	w.setup.Host = channeltest.Host{OnUnknown: func(k channel.UnknownChat) { knocks <- k }}
	w.made(t).run(t)
	stranger := w.AddUser("Eve")
	chat := w.AddDirect(stranger)
	w.Post(chat, stranger, "hello", discordtest.Says{})
	if k := <-knocks; k.Chat != jid(chat) || k.From != "Eve" {
		t.Errorf("%+v", k)
	}
}
