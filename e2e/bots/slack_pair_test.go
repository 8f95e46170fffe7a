package bots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
)

// run runs a command to its end, and returns what it prints.
func run(q *stage.Quay, args ...string) (string, error) {
	out, err := q.Command(args...).CombinedOutput()
	return string(out), err
}

// The operator's way from nothing to the first file, with the commands that
// docs/slack.md names.
func TestAnOperatorPairsASlackAppByItsTokens(t *testing.T) {
	s := slacktest.New(t)
	s.SetScopes(slacktest.Without("reactions:read")...)
	chat := s.AddChannel(slacktest.Public, "harbour\x1b[31m")
	q := stage.NewQuay(t, s, chat, "", "")
	says := func(out string, err error, ok bool, want ...string) {
		t.Helper()
		for _, w := range want {
			if (err == nil) != ok || !strings.Contains(out, w) || strings.Contains(out, "\x1b") || strings.Contains(out, s.BotToken) {
				t.Errorf("%v; it prints, without %q:\n%s", err, w, out)
			}
		}
	}
	config := filepath.Join(q.Dir, "longshore.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte("channels: {web: {listen: \"127.0.0.1:0\"}}\ngroups: [{name: Quay, folder: quay, chat: \"web:quay\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(q, "pair", "slack")
	says(out, err, false, slack.Manifest, "write slack: below channels:")
	bare := strings.Replace(string(text), "bot_token_file: bot, app_token_file: app, ", "", 1)
	if err := os.WriteFile(config, []byte(bare), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = run(q, "pair", "slack")
	says(out, err, false, slack.Manifest, "no tokens")
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(q.Dir, "wrong.yaml"), []byte(strings.Replace(string(text), "slack:"+chat, "slack:X024", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = run(q, "config", "validate", "-c", "wrong.yaml")
	says(out, err, false, "carries slack:X024", "slack has no chat in this form")
	out, err = run(q, "pair", "slack", "--to", "slack:"+chat)
	says(out, err, true, "MISSING reactions:read", "linked to longshore in Loopback", "test file")
	if m := s.FromBot(chat); len(m) != 1 || len(m[0].Files) != 1 {
		t.Errorf("the chat has %+v", m)
	}
	out, err = run(q, "groups", "list", "--channel", "slack")
	says(out, err, true, "slack:"+chat, "#harbour", "group quay")
	out, err = run(q, "doctor")
	says(out, nil, true, "lacks reactions:read")
	host := q.Serve()
	out, err = run(q, "status")
	says(out, err, true, "connected as longshore in Loopback")
	host.Stop()
	out, err = run(q, "unpair", "slack")
	says(out, err, false, "unpair")
}
