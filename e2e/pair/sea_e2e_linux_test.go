//go:build e2e

package pair

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/baileys"
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
	whatsapp               *crew  // nil: no WhatsApp
	secret                 string // of push
	slackChat, discordChat string
	folders                []string // of the groups that send
}

// crew is a group of WhatsApp: the pair's account, and Clara, whose client is Baileys.
type crew struct {
	srv   *whatsapptest.Server
	phone *whatsapptest.Phone // of the pair's account
	clara *baileys.Member
	group types.JID
}

const claraNumber = "4915550000003"

// wholeLease is that of pairs with a whole sea: much goes on there, and a machine that does other things too renews late.
const wholeLease = 5 * time.Second

// newWholeSea is a sea with WhatsApp.
func newWholeSea(t *testing.T) *sea {
	t.Helper()
	s := newSea(t)
	c := &crew{srv: whatsapptest.New(whatsapptest.Options{FewKeys: true})}
	t.Cleanup(c.srv.Close)
	c.phone = c.srv.AddPhone(stage.OurNumber, "Harbour office")
	phone := c.srv.AddPhone(claraNumber, "Clara")
	c.group = c.srv.AddGroup(whatsapptest.Group{Subject: "Harbour crew", Members: []string{claraNumber, stage.OurNumber}})
	c.clara = baileys.New(t, c.srv)
	if err := c.clara.PairQR(stage.Soon(t), phone); err != nil {
		t.Fatal(err)
	}
	s.whatsapp, s.folders = c, append(s.folders, "whatsapp")
	return s
}

// link links the pair's account, by the code that the host shows that owns.
func (p *pair) link() {
	p.Helper()
	if p.sea == nil || p.sea.whatsapp == nil {
		return
	}
	stage.Await(p, "the pair's account is linked", func() bool { // a host that ends meanwhile breaks it off
		owner := p.owner()
		if owner == nil {
			return false
		}
		said, err := p.sea.whatsapp.link(p, owner)
		if err != nil {
			p.Logf("pair whatsapp: %v\n%s", err, said)
		}
		return err == nil
	})
}

func (c *crew) link(t testing.TB, owner *host) (said string, err error) {
	cmd := owner.command("pair", "whatsapp", "--phone", "+"+stage.OurNumber)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = cmd.Stdout
		err = cmd.Start()
	}
	if err != nil {
		return "", err
	}
	code := regexp.MustCompile(`[0-9A-Z]{4}-[0-9A-Z]{4}`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if found := code.FindString(lines.Text()); found != "" {
			if _, err := c.phone.EnterCode(stage.Soon(t), found); err != nil {
				t.Logf("enter the code: %v", err) // the command says why, too
			}
		}
	}
	return said, cmd.Wait()
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
	if s.whatsapp != nil {
		h.env = append(h.env, stage.WhatsAppEnv+"="+s.whatsapp.srv.Addr())
	}
	for name, secret := range map[string]string{"push": s.secret, "bot": s.slack.BotToken, "app": s.slack.AppToken, "discord": s.discord.Token, "telegram": telegramtest.Token} {
		stage.Write(h.T, filepath.Join(h.dir, name), secret)
	}
}

func (s *sea) channels(h *host) string {
	if s == nil {
		return ""
	}
	const rate = "rate: {per_minute: 600000, burst: 10000}"
	whatsapp := ""
	if s.whatsapp != nil {
		whatsapp = ", whatsapp: {" + rate + ", account: {per_minute: 600000, burst: 10000}}"
	}
	return whatsapp + fmt.Sprintf(`, push: {url: %q, secret_file: push, listen: %q}, slack: {bot_token_file: bot, app_token_file: app, %s}, discord: {bot_token_file: discord, %s}, telegram: {token_file: telegram, server: %q, %s}`,
		s.push.URL, h.push, rate, rate, s.telegram.URL, rate)
}

func (s *sea) groups() string {
	if s == nil {
		return ""
	}
	whatsapp := ""
	if s.whatsapp != nil {
		whatsapp = fmt.Sprintf(`, {folder: whatsapp, chat: %q}`, s.whatsapp.group)
	}
	return whatsapp + fmt.Sprintf(`, {folder: push, chat: "push:push"}, {folder: slack, chat: "slack:%s"}, {folder: discord, chat: "dc:%s"}, {folder: telegram, chat: "tg:%d"}`, s.slackChat, s.discordChat, telegramChat)
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
	case "whatsapp":
		stage.Await(p, "Clara to have all", func() bool {
			all, _ = p.sea.whatsapp.clara.Texts()
			return len(all) >= enough
		})
	default:
		all = p.shown(h)
	}
	return all
}

// stream is an assistant that sends one text after the other to its group. Texts are numbers. Some of them
// wait for their result at a time, so that a host that ends leaves some of them in its outbox.
type stream struct {
	folder, token string
	mu            sync.Mutex
	got           []ipc.Status
}

// most is how many texts of a stream have no result yet.
const most = 4

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

func (p *pair) streams() *streams {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	u := &streams{cancel: cancel}
	for _, folder := range p.folders() {
		s := &stream{folder: folder, token: p.newToken(folder)}
		u.all = append(u.all, s)
		taken := make(chan int, most-2)
		u.writers.Go(func() {
			defer close(taken)
			for n := 0; ctx.Err() == nil && s.asked(p, n, "0s", accepted) != ""; n++ {
				taken <- n
			}
		})
		u.writers.Go(func() {
			for n := range taken {
				s.ended(p, n)
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

// moved waits until each stream has sent some more texts, of which the last was not taken yet.
func (u *streams) moved(t *testing.T) {
	t.Helper()
	for _, s := range u.all {
		before := s.count()
		stage.Await(t, s.folder+" goes on", func() bool { return t.Failed() || s.count() > before+most })
	}
	if t.Failed() {
		t.FailNow()
	}
}

// asked has whichever host takes it send a text, as often as it takes, until the result is such.
func (s *stream) asked(p *pair, n int, wait string, is func(ipc.Result) bool) ipc.Status {
	body, key := fmt.Sprintf(`{"type":"message","text":"%d"}`, n), fmt.Sprintf("%s-%d", s.folder, n)
	var last ipc.Result
	ok := stage.Until(p.Context(), func() bool {
		for _, h := range p.hosts {
			if r := h.ask(s.token, key, wait, body); r.Status != "" {
				last = r
				if is(r) {
					return true
				}
			}
		}
		return false
	})
	if !ok {
		p.Errorf("%s: text %d has no end: %+v", s.folder, n, last)
		return ""
	}
	return last.Status
}

// accepted reports whether a text is in the outbox. One that is not, the next owner does not know.
func accepted(r ipc.Result) bool { return r.Channel != "" || r.Status.Final() }

// ended notes the result of a text that was taken.
func (s *stream) ended(p *pair, n int) {
	got := s.asked(p, n, "2s", func(r ipc.Result) bool { return r.Status.Final() })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got = append(s.got, got); !got.Reached() && got != ipc.Uncertain {
		p.Errorf("%s: text %d ended as %q", s.folder, n, got)
	}
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
		case !got.Reached() || !seen:
			return uncertain, fmt.Sprintf("%s: text %d of %d is %s, and members see %s", s.folder, n, len(s.got), got, near(shown, at))
		}
	}
	if at != len(shown) {
		return uncertain, fmt.Sprintf("%s: members see more than %d texts: %s", s.folder, len(s.got), near(shown, at))
	}
	return uncertain, ""
}

// all ends streams, fails the test unless members see all that was sent, once and in order, and logs the sums.
// It returns how many texts are uncertain.
func (p *pair) all(under *streams, h *host) (uncertain int) {
	p.Helper()
	texts := 0
	var each []string
	for _, s := range under.end() {
		sent := 0
		for _, got := range s.got {
			if got.Reached() {
				sent++
			}
		}
		doubts, fault := s.sums(p.shownTo(s.folder, h, sent))
		if fault != "" {
			p.Error(fault)
		}
		texts, uncertain = texts+len(s.got), uncertain+doubts
		each = append(each, fmt.Sprintf("%s %d", s.folder, len(s.got)))
	}
	if p.Failed() {
		return uncertain
	}
	p.Logf("%d texts (%s): none lost, none twice, all in order, %d uncertain on Telegram", texts, strings.Join(each, ", "), uncertain)
	if p.sea != nil && p.sea.whatsapp != nil {
		_, again := p.sea.whatsapp.clara.Texts()
		p.Logf("Clara's device got %d texts once more by the same id, which an app shows once", again)
	}
	return uncertain
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
