package slack_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

// A command reaches the host with its member, and is acknowledged once it is kept.
func TestACommandComesIn(t *testing.T) {
	w := newWorld(t)
	in, stop := w.run(t)
	boss := w.AddAdmin("Boss")
	for _, tt := range []struct{ by, text, want string }{
		{w.ada, "stop", "stop"}, {boss, " NEW ", "NEW"}, {w.ada, "", "help"}, {w.ada, "\x1b[2J dance", "\x1b[2J dance"},
	} {
		w.Command(id(w.desk), tt.by, "/longshore", tt.text)
		got := last(in.next(t))
		role := channel.RoleMember
		if tt.by == boss {
			role = channel.RoleAdmin
		}
		if got.Command != tt.want || got.Sender != tt.by || got.Role != role || got.Text != "" || got.Thread != "" || got.ID == "" || got.Kind != channel.KindMessage {
			t.Errorf("%q came in as %+v", tt.text, got)
		}
	}
	w.Wait(t, "acknowledgements", func() bool { return w.Unacknowledged() == 0 })
	if got := w.Replies(); len(got) != 0 {
		t.Errorf("the members were told %q", got)
	}
	stop()
	w.Command(id(w.desk), w.ada, "/longshore", "status") // the host is down
	in, _ = w.made(t).run(t)
	if got := in.Wait(t, 1)[0]; got.Command != "status" {
		t.Errorf("came in: %+v", got)
	}
}

func TestACommandThatNobodyAnswersIsSaidToBeSo(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	elsewhere := w.AddChannel(slacktest.Public, "elsewhere")
	w.Command(elsewhere, w.ada, "/longshore", "stop")
	w.Command(id(w.desk), w.ada, "/another", "stop")
	w.Wait(t, "an answer", func() bool { return len(w.Replies()) == 1 && w.Unacknowledged() == 0 })
	if got := w.Replies()[0]; got != "No assistant is in this chat." {
		t.Errorf("the member was told %q", got)
	}
	// No event of Slack's passes for a command.
	w.Tell(id(w.desk), map[string]any{"type": "longshore_command", "channel": id(w.desk), "user": w.ada, "text": "new"})
	w.Post(id(w.desk), w.ada, "end")
	if got := in.Wait(t, 1); len(got) != 1 || got[0].Text != "end" || got[0].Command != "" {
		t.Errorf("came in: %+v", got)
	}
}

func TestOnlyAMentionAndAWordIsACommand(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	me := slacktest.Mention(w.BotUser)
	bo := slacktest.Mention(w.AddUser("longshore"))
	for text, want := range map[string]string{
		me + " stop": "stop", me + ": New": "new", me + " stop the press": "", bo + " stop": "", "stop": "", "@longshore stop": "",
		"&gt; " + me + " stop": "", me + " " + me + " stop": "", me + " ſtop": "", me: "", "look, " + me + " stop": "",
	} {
		w.Post(id(w.desk), w.ada, text)
		if got := last(in.next(t)); got.Command != want {
			t.Errorf("%q is the command %q", text, got.Command)
		}
	}
}

// Who is an admin is Slack's word, and is asked again if Slack did not say.
func TestAnAdminIsOneOfTheWorkspace(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	roles := w.ch.(channel.Roles)
	boss := w.AddAdmin("Boss")
	for sender, want := range map[string]channel.Role{w.ada: channel.RoleMember, boss: channel.RoleAdmin} {
		if got, err := roles.RoleOf(t.Context(), w.desk, sender); got != want || err != nil {
			t.Errorf("%s is %q, %v", sender, got, err)
		}
	}
	late := w.AddAdmin("Late")
	w.Always("users.info", slacktest.Fault{Error: "internal_error"})
	if _, err := roles.RoleOf(t.Context(), w.desk, late); err == nil {
		t.Error("a role without an answer")
	}
	w.SetScopes(slacktest.Without("users:read")...)
	w.Always("users.info", slacktest.Fault{Error: "missing_scope"})
	if got, err := roles.RoleOf(t.Context(), w.desk, late); got != channel.RoleUnknown || err != nil {
		t.Errorf("without users:read: %q, %v", got, err)
	}
}
