//go:build e2e

package pair

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// telegramChat is the chat of the group telegram.
const telegramChat = -1001

// sea is the platforms of a pair, with a group each beside the page's: its folder is the platform's name.
// The methods that describe it take a nil sea, which has none.
type sea struct {
	slack                  *slacktest.Server
	discord                *discordtest.Server
	telegram               *telegramtest.Server
	push                   *pushtest.Receiver
	secret                 string // of push
	slackChat, discordChat string
	folders                []string // of the groups that send
}

// folders are the groups of a pair.
func (p *pair) folders() []string {
	if p.sea == nil {
		return []string{"quay"}
	}
	return p.sea.folders
}

func newSea(t *testing.T) *sea {
	t.Helper()
	s := &sea{slack: slacktest.New(t), discord: discordtest.New(t), telegram: telegramtest.New(t, telegramChat), secret: pushtest.Secret(),
		folders: []string{"quay", "push", "slack", "discord", "telegram"}}
	s.push = pushtest.New(t, s.secret, "push:push")
	s.slackChat, s.discordChat = s.slack.AddChannel(slacktest.Public, "slack"), s.discord.AddChannel("discord")
	return s
}

// equip gives a host the secrets of the bots, and push an address.
func (s *sea) equip(h *host, push string) {
	h.Helper()
	if s == nil {
		return
	}
	h.env, h.push = []string{stage.SlackEnv + "=" + s.slack.URL(), stage.DiscordEnv + "=" + s.discord.URL()}, push
	for name, secret := range map[string]string{"push": s.secret, "bot": s.slack.BotToken, "app": s.slack.AppToken, "discord": s.discord.Token, "telegram": telegramtest.Token} {
		stage.Write(h.T, filepath.Join(h.dir, name), secret)
	}
}

func (s *sea) channels(h *host) string {
	if s == nil {
		return ""
	}
	const rate = "rate: {per_minute: 600000, burst: 10000}"
	return fmt.Sprintf(`, push: {url: %q, secret_file: push, listen: %q}, slack: {bot_token_file: bot, app_token_file: app, %s}, discord: {bot_token_file: discord, %s}, telegram: {token_file: telegram, server: %q, %s}`,
		s.push.URL, h.push, rate, rate, s.telegram.URL, rate)
}

func (s *sea) groups() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf(`, {folder: push, chat: "push:push"}, {folder: slack, chat: "slack:%s"}, {folder: discord, chat: "dc:%s"}, {folder: telegram, chat: "tg:%d"}`, s.slackChat, s.discordChat, telegramChat)
}

// shown are the texts that members of a group see, in their order. Enough is how many are there at least.
func (p *pair) shownTo(folder string, h *host, enough int) (all []string) {
	p.Helper()
	switch folder {
	case "push":
		for _, m := range p.sea.push.Shown(p, "push:push", enough) {
			all = append(all, m.Text)
		}
	case "slack":
		for _, m := range p.sea.slack.FromBot(p.sea.slackChat) {
			all = append(all, m.Text)
		}
	case "discord":
		for _, m := range p.sea.discord.FromBot(p.sea.discordChat) {
			all = append(all, m.Text)
		}
	case "telegram":
		for _, m := range p.sea.telegram.WaitFor(p, telegramChat, enough) {
			all = append(all, m.Text)
		}
	default:
		all = p.shown(h)
	}
	return all
}

// stream is an assistant that sends one text after the other to its group, each once the one before has
// its result. Texts are numbers.
type stream struct {
	folder, token string
	mu            sync.Mutex
	got           []ipc.Status
}

func (s *stream) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

// streams are one for each group of a sea.
type streams struct {
	all     []*stream
	cancel  context.CancelFunc
	writers sync.WaitGroup
}

func (p *pair) streams(owner *host) *streams {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	u := &streams{cancel: cancel}
	for _, folder := range p.folders() {
		s := &stream{folder: folder, token: owner.newToken(folder)}
		u.all = append(u.all, s)
		u.writers.Go(func() {
			for ctx.Err() == nil && s.next(p) {
			}
		})
	}
	return u
}

// end has the streams send what they have begun, and returns them.
func (u *streams) end() []*stream {
	u.cancel()
	u.writers.Wait()
	return u.all
}

// moved waits until each stream has sent two more texts.
func (u *streams) moved(t *testing.T) {
	t.Helper()
	for _, s := range u.all {
		before := s.count()
		stage.Await(t, s.folder+" goes on", func() bool { return t.Failed() || s.count() > before+1 })
	}
	if t.Failed() {
		t.FailNow()
	}
}

// next sends the next text by whichever host takes it, as often as it takes.
func (s *stream) next(p *pair) bool {
	n := s.count()
	body, key := fmt.Sprintf(`{"type":"message","text":"%d"}`, n), fmt.Sprintf("%s-%d", s.folder, n)
	var last ipc.Result
	ok := stage.Until(p.Context(), func() bool {
		for _, h := range p.hosts {
			if r := h.ask(s.token, key, body); r.Status != "" {
				last = r
			}
			if last.Status.Final() || last.Status == ipc.Sent {
				return true
			}
		}
		return false
	})
	if !ok {
		p.Errorf("%s: text %d has no end: %+v", s.folder, n, last)
		return false
	}
	s.mu.Lock()
	s.got = append(s.got, last.Status)
	s.mu.Unlock()
	if last.Status != ipc.Sent && last.Status != ipc.Uncertain {
		p.Errorf("%s: text %d ended as %+v", s.folder, n, last)
		return false
	}
	return true
}

// sums compares what a stream was told with what members see. Of a text that is uncertain, which only
// Telegram knows, members see nothing or one.
func (s *stream) sums(shown []string) (uncertain int, fault string) {
	at := 0
	for n, got := range s.got {
		seen := at < len(shown) && shown[at] == strconv.Itoa(n)
		if seen {
			at++
		}
		switch {
		case got == ipc.Uncertain && s.folder == "telegram":
			uncertain++
		case got != ipc.Sent || !seen:
			return uncertain, fmt.Sprintf("%s: text %d of %d is %s, and members see %s", s.folder, n, len(s.got), got, near(shown, at))
		}
	}
	if at != len(shown) {
		return uncertain, fmt.Sprintf("%s: members see more than %d texts: %s", s.folder, len(s.got), near(shown, at))
	}
	return uncertain, ""
}

// near are the texts around a place.
func near(shown []string, at int) string {
	from, to := max(0, at-3), min(len(shown), at+3)
	return fmt.Sprintf("%d texts, %s from %d on", len(shown), strings.Join(shown[from:to], " "), from)
}

func TestTheSumsOfAStreamNoticeWhatIsLostTwiceOrOutOfOrder(t *testing.T) {
	sent, uncertain := ipc.Sent, ipc.Uncertain
	for _, tt := range []struct {
		name, folder string
		got          []ipc.Status
		shown        string
		bad          bool
	}{
		{"all well", "push", []ipc.Status{sent, sent}, "0 1", false},
		{"lost", "push", []ipc.Status{sent, sent}, "0", true},
		{"twice", "push", []ipc.Status{sent, sent}, "0 0 1", true},
		{"twice in the end", "push", []ipc.Status{sent, sent}, "0 1 1", true},
		{"another order", "push", []ipc.Status{sent, sent}, "1 0", true},
		{"uncertain where a repeat has a key", "slack", []ipc.Status{uncertain}, "0", true},
		{"uncertain and not there", "telegram", []ipc.Status{uncertain, sent}, "1", false},
		{"uncertain and there", "telegram", []ipc.Status{uncertain, sent}, "0 1", false},
		{"uncertain and there twice", "telegram", []ipc.Status{uncertain, sent}, "0 1 0", true},
	} {
		s := stream{folder: tt.folder, got: tt.got}
		if n, fault := s.sums(strings.Fields(tt.shown)); (fault != "") != tt.bad || !tt.bad && n > 0 != slices.Contains(tt.got, uncertain) {
			t.Errorf("%s: %d %q", tt.name, n, fault)
		}
	}
}
