//go:build e2e

package slack_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// The Slack of npm's emulate, which nobody here wrote, understands the channel, and
// the other way round.
func TestAgainstEmulateOfNPM(t *testing.T) {
	e := slacktest.Emulate(t)
	set := slack.Settings{BotToken: setting.NewSecret(e.BotToken), AppToken: setting.NewSecret(e.AppToken), Rate: groups.Rate{PerMinute: 60_000, Burst: 1000}}
	w := &world{Server: e.Server, desk: jid(e.Open), private: jid(e.Private)}
	w.setup = channel.Setup{Name: "slack", Settings: &set, Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Log: slog.New(slog.DiscardHandler), Chats: []channel.NamedChat{{JID: w.desk}, {JID: w.private}}}
	in, _ := w.made(t).run(t)

	thread := e.Post(e.Open, slacktest.Mention(e.BotUser)+" a &lt; b?")
	asked := in.Wait(t, 1)[0]
	if !asked.Direct || asked.Thread != thread || asked.Sender != e.Anna || asked.From == "" {
		t.Errorf("came in: %+v", asked)
	}
	said := w.text("the answer")
	said.Thread = thread
	r, err := w.ch.Send(t.Context(), said)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := w.find(t, said, &kept{}); err != nil || found == nil || found.ID != r.ID {
		t.Errorf("Find says %+v, %v", found, err)
	}
	files, k := w.files("two of them", "a", "bb"), &kept{}
	files.Thread = thread
	r, err = w.attempt(t, files, k)
	if err != nil || r.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := w.attempt(t, files, k); err != nil || again.ID != r.ID {
		t.Errorf("another attempt: %+v, %v", again, err)
	}
	var texts []string
	for _, m := range e.FromBot(e.Open) {
		if m.Thread != thread {
			t.Errorf("outside the thread: %+v", m)
		}
		texts = append(texts, m.Text)
		for i, f := range m.Files {
			if f.SHA256 != "" && f.SHA256 != files.Files[i].SHA256 || f.Name != files.Files[i].Name {
				t.Errorf("file %d is %+v", i, f)
			}
		}
	}
	if len(texts) != 2 || texts[0] != said.Text {
		t.Errorf("the bot said %q", texts)
	}
	change := channel.Change{ID: newID(), Chat: w.desk, Thread: thread, Target: r.ID, Files: true, Emoji: "👍🏽"}
	if err := w.ch.(channel.Reactor).React(t.Context(), change); err != nil || !e.Reacted(e.Open, r.ID, "+1::skin-tone-4") {
		t.Errorf("the reaction is not there: %v", err)
	}
	change.Emoji = ""
	if err := w.ch.(channel.Reactor).React(t.Context(), change); err != nil || e.Reacted(e.Open, r.ID, "+1::skin-tone-4") {
		t.Errorf("the reaction is there: %v", err)
	}
	change.Text = "edited"
	if err := w.ch.(channel.Editor).Edit(t.Context(), change); err != nil {
		t.Error(err)
	}
	if all := e.FromBot(e.Open); all[1].Text != "edited" || len(all[1].Files) != 2 {
		t.Errorf("edited is %+v", all[1])
	}
	for range 2 {
		if err := w.ch.(channel.Unsender).Unsend(t.Context(), change); err != nil {
			t.Error(err)
		}
	}
	if all := e.FromBot(e.Open); len(all) != 1 {
		t.Errorf("left are %+v", all)
	}
	question := w.question(false, "Monday", "Tuesday")
	c := w.sent(t, question)
	if found, err := w.find(t, question, &kept{}); err != nil || found == nil || found.ID != c.Target {
		t.Errorf("Find says %+v, %v", found, err)
	}
	c.Text = "Closed."
	if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), c); err != nil {
		t.Error(err)
	}
	if found, err := w.find(t, question, &kept{}); err != nil || found == nil || found.ID != c.Target {
		t.Errorf("Find says %+v, %v of what was closed", found, err)
	}
	e.Upload(e.Private, "", "look", "a.bin", []byte("her file"))
	m := in.Wait(t, 2)[1]
	if m.Chat != w.private || len(m.Files) != 1 {
		t.Fatalf("came in: %+v", m)
	}
	body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: m.Chat, Ref: m.Files[0].Ref})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if data, err := io.ReadAll(body); string(data) != "her file" || err != nil {
		t.Errorf("her file is %q, %v", data, err)
	}
}
