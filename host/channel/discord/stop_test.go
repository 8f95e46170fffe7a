package discord_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/setting"
)

// held runs the channel until it waits for somebody, and says why by its code.
func (w *world) held(t *testing.T, code, says string) {
	t.Helper()
	w.run(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, says) })
	_, err := w.ch.Send(t.Context(), w.text("hello"))
	if e := is(t, "Send", err, channel.Held, code); e.Hint == "" {
		t.Error("there is no remedy")
	}
}

func TestWithoutATokenTheChannelWaitsForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setup.Settings.(*discord.Settings).BotToken = setting.Secret{}
	w.made(t).held(t, "discord_not_paired", "no token")
}

// The intents are switched off between the question for them and the greeting.
func TestIntentsThatAreTakenAwayHoldTheChannel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Next("gateway", discordtest.Fault{Before: func() { w.Flags = 0 }})
	w.held(t, "discord_intents", "hear messages")
}

// Discord resets the token of a bot that connects more often than it may in a day.
func TestABotThatHasConnectedTooOftenWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NoSessions = true
	w.held(t, "discord_sessions", "too often")
	if n := w.Calls("identify"); n != 0 {
		t.Errorf("it connected %d times", n)
	}
}

// Discord blocks the address of a bot after 10,000 refusals in 10 minutes. The host
// stops asking long before.
func TestAfterAThousandRefusalsTheHostAsksNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t)
	w.Always("create", discordtest.Fault{Status: 403, Code: 50013})
	for range 1000 {
		w.ch.(channel.Applier).Apply(w.setup) // a chat that was held is asked again
		if _, err := w.ch.Send(t.Context(), w.text("hello")); channel.ClassOf(err) != channel.Held {
			t.Fatal(err)
		}
	}
	asked := w.Calls("create")
	w.ch.(channel.Applier).Apply(w.setup)
	_, err := w.ch.Send(t.Context(), w.text("hello"))
	is(t, "Send", err, channel.Held, "discord_paused")
	if n := w.Calls("create"); n != asked {
		t.Errorf("Discord was asked %d times more", n-asked)
	}
}
