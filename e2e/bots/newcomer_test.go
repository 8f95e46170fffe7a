package bots

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
)

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// manual is what the pages of a channel have a newcomer write into longshore.yaml, in the
// end, with the chat in the place of the page's own.
func manual(t *testing.T, page, chat, own string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
		for _, line := range strings.Split(m[1], "\n") {
			if line = strings.TrimPrefix(line, "   "); line != "groups: []" {
				all = append(all, line)
			}
		}
	}
	got := strings.ReplaceAll(strings.Join(all, "\n"), chat, own)
	if !strings.Contains(got, own) {
		t.Fatalf("docs/%s names no chat %s", page, chat)
	}
	return got
}

// newcomer is who follows a page word for word.
func newcomer(t *testing.T, text, env string) *stage.Berth {
	t.Helper()
	b := &stage.Berth{T: t, Dir: t.TempDir(), Folder: "desk", Env: []string{env}}
	if err := os.WriteFile(filepath.Join(b.Dir, "longshore.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// says runs a command that is to end well, and returns what it says.
func says(b *stage.Berth, args ...string) string {
	b.T.Helper()
	out, err := b.Command(args...).CombinedOutput()
	if err != nil {
		b.T.Errorf("longshore %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestANewcomerWhoFollowsTheDiscordPageGetsAFile(t *testing.T) {
	t.Parallel()
	s := discordtest.New(t)
	chat := s.AddChannel("desk")
	b := newcomer(t, manual(t, "discord.md", "1234567890", chat), stage.DiscordEnv+"="+s.URL())
	b.Env = append(b.Env, "DISCORD_BOT_TOKEN="+s.Token)
	if out := says(b, "pair", "discord"); !strings.Contains(out, "dc:"+chat) || !strings.Contains(out, "https://discord.com/oauth2/authorize?client_id="+s.AppID) {
		t.Errorf("pairing says\n%s", out)
	}
	says(b, "pair", "discord", "--to", "dc:"+chat)
	says(b, "doctor")
	host := b.Start()
	s.Wait(t, "the host's session", func() bool { return s.Calls("identify") > 0 })
	s.Post(chat, s.AddUser("Anna"), "<@"+s.BotID+"> send me the report", discordtest.Says{Mentions: []string{s.BotID}})
	s.Wait(t, "the file", func() bool {
		files := 0
		for _, m := range s.FromBot(chat) {
			files += len(m.Files)
		}
		return files >= 2 // the first one is that of the pairing
	})
	host.Stop()
}

func TestANewcomerWhoFollowsTheTelegramPageGetsAFile(t *testing.T) {
	t.Parallel()
	s := telegramtest.New(t, stage.DockChat)
	text := manual(t, "telegram.md", "-1001234567890", "-1001")
	text = strings.Replace(text, "    token: ", "    server: "+s.URL+"\n    token: ", 1)
	b := newcomer(t, text, stage.ServeEnv+"=1")
	b.Env = append(b.Env, "TELEGRAM_BOT_TOKEN="+telegramtest.Token)
	says(b, "pair", "telegram", "--to", "tg:-1001")
	says(b, "doctor")
	host := b.Start()
	s.Wait(t, "the host to listen", func() bool { return s.Calls("getUpdates") > 0 })
	if err := os.WriteFile(filepath.Join(b.Dir, "report.pdf"), []byte("%PDF-1.4 the report"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(b, "send", "report.pdf", "--group", "desk")
	all := s.WaitFor(t, stage.DockChat, 2)
	host.Stop()
	if len(all) != 2 || len(all[1].Files) != 1 || all[1].Files[0].Name != "report.pdf" {
		t.Errorf("the chat has %+v", all)
	}
}
