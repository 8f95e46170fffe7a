package slack_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// pair runs "longshore pair slack", and returns what it says.
func (w *world) pair(t testing.TB, to groups.JID) (says, account string, err error) {
	t.Helper()
	var out strings.Builder
	account, err = w.platform().(channel.Linker).Link(t.Context(), w.ch, channel.Pairing{To: to, Screen: channeltest.Screen{Writer: &out}})
	return out.String(), account, err
}

func (w *world) settings() *slack.Settings { return w.setup.Settings.(*slack.Settings) }

func TestPairingBeginsWithTheManifest(t *testing.T) {
	w := newWorld(t)
	w.settings().AppToken = setting.Secret{}
	says, _, err := w.made(t).pair(t, "")
	if err == nil || !strings.Contains(says, slack.Manifest) || !strings.Contains(says, "api.slack.com/apps") {
		t.Errorf("%v; it says %s", err, says)
	}
	w.run(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "longshore pair slack") })
}

// The manifest asks for the scopes that have a reason, and docs/slack.md gives both.
func TestTheManifestAndTheManualNameEveryScope(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/slack.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range slack.Scopes() {
		want = append(want, s.Name)
		if !strings.Contains(string(manual), "| `"+s.Name+"` |") {
			t.Errorf("docs/slack.md gives no reason for %s", s.Name)
		}
	}
	slices.Sort(want)
	var got []string
	for _, m := range regexp.MustCompile(`- (commands|[a-z_]+:[a-z]+)\n`).FindAllStringSubmatch(slack.Manifest, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-with a reason +in the manifest)\n%s", diff)
	}
	if !strings.Contains(string(manual), slack.Manifest) {
		t.Error("docs/slack.md has another manifest")
	}
}

func TestPairingSaysWhichScopeIsMissing(t *testing.T) {
	w := newWorld(t)
	scopes := append(slices.Clone(slacktest.Scopes), "reactions:read")
	w.SetScopes(slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "groups:history" })...)
	says, account, err := w.pair(t, "")
	if err != nil || account != "longshore in Loopback" || !strings.Contains(says, "MISSING groups:history") || strings.Count(says, "MISSING") != 1 || !strings.Contains(says, "Reinstall") {
		t.Errorf("%q, %v; it says %s", account, err, says)
	}
	w.SetScopes(slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "files:write" })...)
	if _, _, err := w.pair(t, ""); err == nil || !strings.Contains(err.Error(), "files:write") {
		t.Errorf("without files:write: %v", err)
	}
	for method, word := range map[string]string{"auth.test": "invalid_auth", "apps.connections.open": "missing_scope"} {
		w.SetScopes(scopes...)
		w.Next(method, slacktest.Fault{Error: word})
		if _, _, err := w.pair(t, ""); err == nil || !strings.Contains(err.Error(), map[string]string{"auth.test": "bot_token", "apps.connections.open": "connections:write"}[method]) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// The host's own remedies are to run "pair", or to wait until it tries again.
func TestAFailedPairingSaysWhatToDoNext(t *testing.T) {
	w := newWorld(t)
	fails := func(method, word, want string) {
		t.Helper()
		w.Next(method, slacktest.Fault{Error: word})
		_, _, err := w.pair(t, w.desk)
		e, ok := errors.AsType[*channel.Error](err)
		if !ok || !strings.Contains(e.Hint, want) || strings.Contains(e.Hint, "longshore pair") || strings.Contains(err.Error(), e.Hint) {
			t.Errorf("%s: %v; the hint is %+v", word, err, e)
		}
	}
	fails("auth.test", "invalid_auth", "xoxb-")
	fails("auth.test", "token_revoked", "Reinstall")
	fails("auth.test", "service_unavailable", "run this command again")
	fails("apps.connections.open", "invalid_auth", "xapp-")
	fails("apps.connections.open", "missing_scope", "connections:write")
	fails("apps.connections.open", "link_disabled", "Socket Mode")
	fails("files.getUploadURLExternal", "missing_scope", "Reinstall")
	fails("files.completeUploadExternal", "not_in_channel", "/invite")
}

func TestPairingSendsATestFile(t *testing.T) {
	w := newWorld(t)
	says, _, err := w.pair(t, w.desk)
	if got := w.FromBot(id(w.desk)); err != nil || len(got) != 1 || len(got[0].Files) != 1 || !strings.Contains(says, "test file") {
		t.Errorf("%v; the chat has %+v; it says %s", err, got, says)
	}
	w.Kick(id(w.office))
	for _, to := range []groups.JID{w.office, "slack:C0NOBODY", "web:family"} {
		if _, _, err := w.pair(t, to); err == nil {
			t.Errorf("to %s: no error", to)
		}
	}
}

func TestTheChatsThatTheAppIsInAreListed(t *testing.T) {
	w := newWorld(t)
	w.Kick(id(w.office))
	got, err := w.ch.(channel.Lister).Chats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []channel.Chat{
		{JID: w.desk, Name: "#desk", Members: 2},
		{JID: w.private, Name: "#private", Members: 2, Note: "private"},
		{JID: w.inDM, Name: "Ada", Members: 2, Note: "direct message"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheDoctorSeesWhatIsMissing(t *testing.T) {
	w := newWorld(t)
	w.SetScopes(append(slices.Clone(slacktest.Scopes), "reactions:read")...)
	check := func(what string, want finding.Severity, says string) {
		t.Helper()
		got := w.platform().Examine(t.Context(), w.setup, false)
		i := slices.IndexFunc(got, func(f finding.Finding) bool { return strings.Contains(f.Cause, says) })
		if i < 0 || got[i].Severity != want || want != finding.Fine && got[i].Remedy == "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	check("well", finding.Fine, "connects as longshore in Loopback")
	w.Archive(id(w.private))
	w.Kick(id(w.office))
	check("archived", finding.Warning, string(w.private)+": the Slack channel is archived")
	check("not in it", finding.Warning, string(w.office)+": the Slack app is not in the channel")
	w.SetScopes(slacktest.Without("files:write", "users:read")...)
	check("needed", finding.Fault, "lacks files:write")
	check("useful", finding.Warning, "lacks users:read")
	w.Next("apps.connections.open", slacktest.Fault{Error: "invalid_auth"})
	check("the app token", finding.Fault, "connections:write")
	w.Next("auth.test", slacktest.Fault{Error: "token_revoked"})
	check("the bot token", finding.Fault, "revoked")
	w.settings().BotToken = setting.Secret{}
	check("no token", finding.Fault, "no tokens")
}

// file is a longshore.yaml.
type file struct{ bad []string }

func (f *file) Has(string) bool                        { return true }
func (f *file) Bad(key, _, _ string)                   { f.bad = append(f.bad, key) }
func (f *file) Secret(string, *setting.Secret, string) {}

func TestTokensThatAreTakenForEachOtherAreNamed(t *testing.T) {
	w := newWorld(t)
	set := *w.settings()
	set.Check(&file{})
	set.BotToken, set.AppToken = set.AppToken, set.BotToken
	f := &file{}
	if set.Check(f); !slices.Equal(f.bad, []string{"bot_token", "app_token"}) {
		t.Errorf("%v are bad", f.bad)
	}
	if got := fmt.Sprintf("%v %+v", set, set); strings.Contains(got, "xoxb-") {
		t.Errorf("the settings print as %s", got)
	}
}
