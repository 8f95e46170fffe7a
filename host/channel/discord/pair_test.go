package discord_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/setting"
)

func (w *world) platform() channel.Platform { return discord.Platform(discord.Net{API: w.URL()}) }

// pair runs "longshore pair discord", and returns what it says.
func (w *world) pair(t testing.TB, to groups.JID) (says, account string, err error) {
	t.Helper()
	var out strings.Builder
	account, err = w.platform().(channel.Linker).Link(t.Context(), w.ch, channel.Pairing{To: to, Screen: channeltest.Screen{Writer: &out}})
	return out.String(), account, err
}

func TestPairingBeginsWithTheGuide(t *testing.T) {
	w := newWorld(t, func(s *discord.Settings) { s.BotToken = setting.Secret{} })
	says, _, err := w.pair(t, "")
	if err == nil || !strings.Contains(says, "Message Content Intent") || !strings.Contains(says, "discord.com/developers/applications") {
		t.Errorf("%v; it says %s", err, says)
	}
	w.run(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "longshore pair discord") })
}

func TestPairingChecksIntentsListsChannelsAndSendsAFile(t *testing.T) {
	w := newWorld(t)
	w.Flags = discordtest.FlagMembers
	says, account, err := w.pair(t, w.desk)
	if err != nil || account != "longshore" {
		t.Errorf("%q, %v", account, err)
	}
	for _, want := range []string{"MISSING Message Content Intent", "ok      Server Members Intent", "https://discord.com/developers/applications/1003/bot",
		discord.Invitation("1003"), string(w.desk) + " ", "#desk"} {
		if !strings.Contains(says, want) {
			t.Errorf("%q is not in what it says:\n%s", want, says)
		}
	}
	if got := w.FromBot(id(w.desk)); len(got) != 1 || len(got[0].Files) != 1 {
		t.Errorf("the chat shows %+v", got)
	}
	w.Token = "MTAwMg.another.one"
	if _, _, err := w.pair(t, ""); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("with a wrong token: %v", err)
	}
}

// A command does not try again by itself, as it said.
func TestPairingWithoutANetworkSaysWhatToSeeTo(t *testing.T) {
	w := newWorld(t)
	w.Next("me", discordtest.Fault{Status: 503})
	_, _, err := w.pair(t, "")
	if e := is(t, "pair", err, channel.Passing, "not_connected"); !strings.Contains(e.Hint, "reaches discord.com") || !strings.Contains(e.Hint, "run this command again") {
		t.Errorf("the hint is %q", e.Hint)
	}
}

func TestTheManualNamesEveryRightAndHasTheLink(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/discord.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range discord.Rights() {
		if !strings.Contains(string(manual), "| "+r.Name+" |") {
			t.Errorf("docs/discord.md gives no reason for %s", r.Name)
		}
	}
	if !strings.Contains(string(manual), discord.Invitation("APPLICATION_ID")) {
		t.Error("docs/discord.md has another link")
	}
}

func TestTheDoctorNamesWhatIsMissingAndTheLinkThatMendsIt(t *testing.T) {
	w := newWorld(t)
	examine := func() (all string) {
		for _, f := range w.platform().Examine(t.Context(), w.setup, false) {
			all += fmt.Sprintf("%s %s: %s\n", f.Severity, f.Cause, f.Remedy)
		}
		return all
	}
	if got := examine(); got != "ok connects as longshore: \n" {
		t.Errorf("of a bot that has all: %s", got)
	}
	w.Flags = 0
	w.Deny(id(w.desk), 1<<15) // Attach Files
	got := examine()
	for _, want := range []string{"https://discord.com/developers/applications/1003/bot", "lacks Attach Files: ", discord.Invitation("1003")} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in what it says:\n%s", want, got)
		}
	}
}
