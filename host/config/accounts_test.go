package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
)

// twoPages is a platform with two accounts.
const twoPages = `channels:
  web:
  web-team: {type: web, listen: "127.0.0.1:8421", keep: 90d}
`

func TestAPlatformHasSeveralAccounts(t *testing.T) {
	cfg, err := parse(t, configDir(t), twoPages+`groups:
- {folder: family, chat: "web:family", channel: web}
- {folder: team, chat: "web:team", channel: web-team}
`)
	if err != nil {
		t.Fatal(err)
	}
	team, ok := cfg.Channels.Named("web-team")
	if !ok || team.Platform.Key() != "web" {
		t.Fatalf("channels %v", cfg.Channels)
	}
	if set := team.Settings.(*web.Settings); set.Listen != "127.0.0.1:8421" || set.Upload != 100<<20 || set.Keep.String() != "2160h0m0s" {
		t.Errorf("settings %+v", set)
	}
	if webOf(cfg).Listen != "127.0.0.1:8420" {
		t.Errorf("the other account has %+v", webOf(cfg))
	}
	for i, want := range []string{"web", "web-team"} {
		for _, c := range cfg.Channels {
			if got := c.Carries(cfg.Groups[i]); got != (c.Name == want) {
				t.Errorf("%s carries %s: %v", c.Name, cfg.Groups[i].Folder, got)
			}
		}
	}
	text, err := yaml.Marshal(cfg)
	if err != nil || !strings.Contains(string(text), "web-team:\n    type: web\n    listen: 127.0.0.1:8421\n") {
		t.Errorf("written as %s, %v", text, err)
	}
}

func TestTheOnlyAccountOfAPlatformNeedsNoNameInAGroup(t *testing.T) {
	cfg, err := parse(t, configDir(t), "channels: {team: {type: web}}\ngroups: [{folder: a, chat: 'web:a'}]\n")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Groups[0].Channel != "team" {
		t.Errorf("carried by %q", cfg.Groups[0].Channel)
	}
}

func TestTwoAccountsMayCarryTheSameChat(t *testing.T) {
	cfg, err := parse(t, configDir(t), twoPages+"groups:\n- {folder: a, chat: 'web:a', channel: web}\n- {folder: b, chat: 'web:a', channel: web-team}\n")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Groups[0].Address() == cfg.Groups[1].Address() {
		t.Errorf("both groups own %v", cfg.Groups[0].Address())
	}
}

func TestProblemsWithAccountsHaveALineAndARemedy(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		line       int
		key, words string
	}{
		{"no channel named", twoPages + "groups:\n- {folder: a, chat: 'web:a'}\n", 5, "groups[0].channel", "more than one channel could carry web:a"},
		{"same chat twice", twoPages + "groups:\n- {folder: a, chat: 'web:a', channel: web}\n- {folder: b, chat: 'web:a', channel: web-team}\n- folder: c\n  chat: 'web:a'\n  channel: web-team\n", 8, "groups[2].chat", `web:a is taken by group "b" on line 6`},
		{"same chat twice, of the only account", "channels: {team: {type: web}}\ngroups:\n- {folder: a, chat: 'web:a', channel: team}\n- folder: c\n  chat: 'web:a'\n", 5, "groups[1].chat", `web:a is taken by group "a" on line 3`},
		{"unknown channel", twoPages + "groups:\n- folder: a\n  chat: 'web:a'\n  channel: slack\n", 7, "groups[0].channel", `no channel "slack"`},
		{"channel of another platform", twoPages + "groups:\n- folder: a\n  chat: '1203@g.us'\n  channel: web\n", 7, "groups[0].channel", "has no chat in the form"},
		{"unknown platform", "channels:\n  team:\n    type: slak\n", 3, "channels.team.type", "no platform"},
		{"no type", "channels:\n  team: {listen: '127.0.0.1:1'}\n", 2, "", `unknown key "team"`},
		{"type of a bare channel", "channels:\n  web:\n    type: web\n", 3, "", `unknown key "type"`},
		{"unknown setting", "channels:\n  team:\n    type: web\n    lisen: x\n", 4, "", `unknown key "lisen"`},
		{"bad setting", "channels:\n  team:\n    type: web\n    listen: x\n", 4, "channels.team.listen", "no address"},
		{"bad name", "channels:\n  Team:\n    type: web\n", 2, "channels.Team", "no name of a channel"},
		{"name of a store", "channels:\n  outbox:\n    type: web\n", 2, "channels.outbox", "store"},
		{"name of the state", "channels:\n  state:\n    type: web\n", 2, "channels.state", "store"},
	} {
		_, err := parse(t, configDir(t), tt.text)
		problems := problemsIn(err)
		for _, p := range problems {
			hasPlaceCaretAndRemedy(t, tt.text, p)
		}
		if !slices.ContainsFunc(problems, func(p *config.Problem) bool {
			return p.Line == tt.line && p.Key == tt.key && strings.Contains(p.Message, tt.words) && p.Hint != ""
		}) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// A chat with a mistyped prefix was taken for one of a platform that this
// program does not have.
func TestAMistypedChatIsAProblemOfTheFile(t *testing.T) {
	for chat, hint := range map[string]string{
		"wbe:family":     `did you mean "web"?`,
		"whatsap:123":    `did you mean "whatsapp"?`,
		"whatsapp:123":   "120363000000000000@g.us",
		"telgram:-10012": "tg:-1001234567890",
	} {
		_, err := parse(t, configDir(t), "channels: {web: , whatsapp: }\ngroups:\n- folder: a\n  chat: "+chat+"\n")
		problems := problemsIn(err)
		if len(problems) != 1 || problems[0].Line != 4 || problems[0].Key != "groups[0].chat" || !strings.Contains(problems[0].Hint, hint) {
			t.Errorf("%s: %v", chat, err)
		}
	}
}

// problemsIn takes the problems out of a joined error.
func problemsIn(err error) (all []*config.Problem) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	for _, one := range joined.Unwrap() {
		if p, ok := one.(*config.Problem); ok {
			all = append(all, p)
		}
	}
	return all
}
