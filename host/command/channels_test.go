package command

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/media"
)

var writeChannels = flag.Bool("write-channels", false, "write the table of docs/channels.md")

const (
	channelsDoc   = "../../docs/channels.md"
	channelsBegin = "<!-- table: go test ./host/command -run TheTableOfChannels -write-channels -->\n"
	channelsEnd   = "<!-- end of the table -->\n"
)

// TestTheTableOfChannelsIsWhatTheChannelsSay makes the table of docs/channels.md from the
// channels' own values.
func TestTheTableOfChannelsIsWhatTheChannelsSay(t *testing.T) {
	text, err := os.ReadFile(channelsDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), channelsBegin)
	table, after, ends := strings.Cut(rest, channelsEnd)
	if !begins || !ends {
		t.Fatal("the document has no place for the table")
	}
	want := tableOfChannels(t)
	if *writeChannels {
		if err := os.WriteFile(channelsDoc, []byte(before+channelsBegin+want+channelsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(table, want); diff != "" {
		t.Errorf("the table is out of date (its first line says how to write it):\n%s", diff)
	}
}

// described is a channel and what it takes with its defaults.
type described struct {
	name   string
	c      channel.Channel
	limits media.Limits
}

func tableOfChannels(t *testing.T) string {
	var all []described
	for _, p := range stage.AllPlatforms() {
		settings := p.Settings()
		if s, ok := settings.(*push.Settings); ok { // the only one that does not begin without values
			s.URL, s.Secret = "https://desk.example.org/longshore", setting.NewSecret("whsec_"+strings.Repeat("c2Vj", 8))
		}
		c, err := p.New(channel.Setup{Name: p.Key(), Settings: settings, Dir: t.TempDir(), Chats: []channel.NamedChat{{JID: chatOf(p), Name: "x"}}, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("%s: %v", p.Key(), err)
		}
		all = append(all, described{p.Key(), c, settings.Limits()})
	}
	var b strings.Builder
	row := func(what string, value func(described) string) {
		b.WriteString("| " + what)
		for _, d := range all {
			b.WriteString(" | " + value(d))
		}
		b.WriteString(" |\n")
	}
	row("", func(d described) string { return d.name })
	b.WriteString(strings.Repeat("|---", len(all)+1) + "|\n")
	row("text in one message", func(d described) string { return fmt.Sprintf("%d %s", d.limits.Text, d.limits.Unit) })
	row("formatting", func(d described) string { return formatting[d.limits.Markup] })
	for _, k := range []media.Kind{media.Document, media.Image, media.Video, media.Audio, media.Voice, media.Sticker} {
		row("largest "+string(k), func(d described) string { return sizeOf(d.limits.Kinds[k].Bytes) })
	}
	row("files in one message", func(d described) string { return fmt.Sprint(max(1, d.limits.Files)) })
	row("threads", func(d described) string { return yes(d.limits.Threads) })
	row("edits", func(d described) string {
		e, can := d.c.(channel.Editor)
		return untilWhen(can, func() time.Duration { return e.EditWithin() })
	})
	row("deletes for everybody", func(d described) string {
		u, can := d.c.(channel.Unsender)
		return untilWhen(can, func() time.Duration { return u.UnsendWithin() })
	})
	row("reacts", func(d described) string { _, can := d.c.(channel.Reactor); return yes(can) })
	row("questions", func(d described) string {
		if d.limits.Poll.Choices == 0 {
			return "numbered text"
		}
		return fmt.Sprintf("up to %d choices", d.limits.Poll.Choices)
	})
	row("shows that questions end", func(d described) string { _, can := d.c.(channel.PollEnder); return yes(can) })
	row("shows that the assistant works", func(d described) string { _, can := d.c.(channel.Typing); return yes(can) })
	row("fetches members' files", func(d described) string { _, can := d.c.(channel.Fetcher); return yes(can) })
	row("knows who is an admin", func(d described) string { _, can := d.c.(channel.Roles); return yes(can) })
	row("lists its chats", func(d described) string { _, can := d.c.(channel.Lister); return yes(can) })
	row("after a lost answer", afterLostAnswer)
	return b.String()
}

// chatOf is some chat of a platform.
func chatOf(p channel.Platform) groups.JID {
	forms := []groups.JID{"web:x", "120363000000000000@g.us", "push:x", "slack:C024BE91L", "tg:-1001234567890", "dc:123456789012345678"}
	return forms[slices.IndexFunc(forms, p.Owns)]
}

var formatting = map[media.Markup]string{
	media.MarkupWritten: "as written", media.MarkupMarkdown: "Markdown", media.MarkupPlain: "none", media.MarkupWhatsApp: "WhatsApp's", media.MarkupSlack: "mrkdwn", media.MarkupDiscord: "Discord's", media.MarkupTelegram: "Telegram's",
}

func yes(can bool) string {
	if can {
		return "yes"
	}
	return "-"
}

func sizeOf(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return media.Size(bytes)
}

func untilWhen(can bool, limit func() time.Duration) string {
	if !can {
		return "-"
	}
	if d := limit(); d != channel.Forever {
		return "for " + strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
	}
	return "yes"
}

// afterLostAnswer is what the host does if it does not know whether a message arrived.
func afterLostAnswer(d described) string {
	_, finds := d.c.(channel.Finder)
	switch keyed := d.c.Repeat().Keyed; {
	case keyed == channel.Forever:
		return "sends again, shown once"
	case keyed > 0 && finds:
		return fmt.Sprintf("sends again for %v, shown once; then looks it up", keyed)
	case finds:
		return "looks it up"
	case keyed > 0:
		return fmt.Sprintf("sends again for %v, shown once; then `uncertain`", keyed)
	}
	return "`uncertain`"
}
