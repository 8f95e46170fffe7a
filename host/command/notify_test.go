package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// told waits until n messages are shown in a chat, and returns their texts.
func told(t *testing.T, m *memory.Channel, chat groups.JID, n int) (texts []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stage.Patience)
	defer cancel()
	shown, err := m.WaitShown(ctx, chat, n)
	if err != nil {
		t.Fatalf("%v; shown %+v", err, shown)
	}
	for _, s := range shown {
		texts = append(texts, s.Text)
	}
	return texts
}

// An account is unlinked: the operators' chat, on another channel, is told once, also over
// a restart, and once when the account is linked again. A webhook that hangs holds up
// nothing.
func TestAnUnlinkedChannelIsToldInTheOperatorsChat(t *testing.T) {
	t.Parallel()
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, nobody sees that the client has gone
		<-r.Context().Done()
	}))
	t.Cleanup(hanging.Close)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(pushtest.Secret()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := stage.NewSite(t, t.TempDir(), 2, "{free_disk: 1MiB}\nnotify: {after: 1s, group: g1, webhook: {url: \""+hanging.URL+"\", secret_file: \""+secret+"\"}}")
	chats := memory.New(memory.Options{Online: true})
	phone := memory.Full{Finding: memory.Finding{Channel: memory.New(memory.Options{Name: "phone", Prefix: "phone:"})}}
	phone.Disconnect()
	_, stop := s.Start(nil, chats, phone)
	began := told(t, chats, "mem:g1", 1)[0]
	for _, want := range []string{"Fault on ", "channel phone is not connected: the memory channel is not connected", "What to do: correct what the platform says"} {
		if !strings.Contains(began, want) {
			t.Errorf("the chat is told %q, without %q", began, want)
		}
	}
	stop()
	chats = chats.Restarted()
	phone.Channel = phone.Restarted()
	phone.Disconnect()
	h, _ := s.Start(nil, chats, phone)
	time.Sleep(2 * time.Second) // longer than a fault has to last
	if status, err := h.Local(true).Status(t.Context()); err != nil || len(status.Findings) != 1 || status.Findings[0].ID() != "channel_down of channel phone" {
		t.Errorf("the status has the faults %+v, %v", status.Findings, err)
	}
	phone.Reconnect()
	texts := told(t, chats, "mem:g1", 2)
	if texts[0] != began || !strings.HasPrefix(texts[1], "Over on ") || !strings.Contains(texts[1], "channel phone") {
		t.Errorf("the chat is told %q", texts)
	}
	time.Sleep(2 * time.Second)
	if again := chats.Shown("mem:g1"); len(again) != 2 {
		t.Errorf("the chat is told %+v", again)
	}
	if other := chats.Shown("mem:g0"); len(other) != 0 {
		t.Errorf("another chat is told %+v", other)
	}
}

// npm's standardwebhooks verifies what the host signs; the command shows how each
// target took the test.
func TestTheTestOfTheTargets(t *testing.T) {
	secret := pushtest.Secret()
	node := pushtest.NewNode(t, secret)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "topic \x1b[2Jreserved", http.StatusForbidden)
	}))
	t.Cleanup(broken.Close)
	t.Setenv("HOOK_SECRET", secret)
	s := stage.NewSite(t, t.TempDir(), 1, fmt.Sprintf("{free_disk: 1MiB}\nnotify: {group: g0, webhook: {url: %q, secret: \"${HOOK_SECRET}\"}, ntfy: {server: %q, topic: ops}}", node.URL, broken.URL))
	chats := memory.New(memory.Options{Online: true})
	s.Start(nil, chats)
	client := operator.NewClient(operator.ControlDir(s.Cfg.Layout()))
	stage.Await(t, "the host answers", func() bool { _, err := client.Status(t.Context()); return err == nil })
	all, err := client.NotifyTest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := node.Next(t); e.Event != "message" || e.Message.Type != "test" {
		t.Errorf("npm's standardwebhooks says %+v", e)
	}
	if text := told(t, chats, "mem:g0", 1)[0]; !strings.Contains(text, "This is a test") {
		t.Errorf("the chat is told %q", text)
	}
	var out bytes.Buffer
	err = (&env{Terminal: terminal.Terminal{Stdout: &out, Stderr: os.Stderr}, getenv: os.Getenv}).printNotified(all)
	if code, _ := exitOf(err); code != terminal.ExitFailed {
		t.Errorf("exit code %d: %v", code, err)
	}
	for _, want := range []string{"chat of g0: taken\n", "webhook: taken\n", "answered with status 403: topic"} {
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "\x1b") {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
	}
}

// An assistant's program is missing, and a reload is refused: the operators' chat is told
// of each once, and once when each is over; status and metrics name the same.
func TestAMissingProgramAndARefusedReloadAreToldInTheOperatorsChat(t *testing.T) {
	t.Parallel()
	const file = `channels: {web: {listen: "%LISTEN%"}}
limits: {free_disk: 1MB}
notify: {after: 3s, group: ops} # longer than the doctor keeps an answer, which tells of a refused file, too
assistants: {helper: {agent: command, command: ["PROGRAM"]}}
groups:
  - {folder: family, chat: "web:family", assistant: helper, gather: {after: 0s}}
  - {folder: ops, chat: "web:ops"}
`
	h := stage.NewChanging(t, strings.Replace(file, "PROGRAM", "no-such-program", 1))
	isTold := func(beginnings ...string) {
		t.Helper()
		h.Until(fmt.Sprintf("the chat is told %q", beginnings), func() bool {
			texts := slices.DeleteFunc(h.Texts("ops"), func(text string) bool { return strings.Contains(text, "channel web") }) // which a slow machine brings up late
			if len(texts) > 4 {
				t.Fatalf("the chat is told %q", texts)
			}
			return !slices.ContainsFunc(beginnings, func(b string) bool {
				kind, of, _ := strings.Cut(b, ": ")
				return !slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, kind) && strings.Contains(text, of) })
			})
		})
	}
	const missing, refused = `the command "no-such-program" of assistant "helper" was not found`, "the host runs by an older longshore.yaml"
	h.Say("family", "hello")
	isTold("Fault on: " + missing)
	h.Until("the metric", func() bool {
		metrics, err := stage.Scrape(h.Layout.State)
		return err == nil && strings.Contains(metrics, `longshore_finding{name="not_installed",part="assistant helper"} 1`)
	})
	var out bytes.Buffer
	if code := Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", h.File, "status"}, nil, &out, &out); code != terminal.ExitOK || !strings.Contains(out.String(), "fault not_installed: "+missing) {
		t.Errorf("status exits with %d:\n%s", code, &out)
	}
	h.Write("grups: []\n")
	if r, err := h.Client.Reload(t.Context(), false); err != nil || len(r.Problems) == 0 {
		t.Errorf("a broken file is applied: %+v, %v", r, err)
	}
	isTold("Fault on: "+missing, "Fault on: "+refused)
	h.Reload(strings.Replace(file, "PROGRAM", "cat", 1))
	isTold("Fault on: "+missing, "Fault on: "+refused, "Over on: "+missing, "Over on: "+refused)
	if s, err := h.Client.Status(t.Context()); err != nil || len(s.Findings) > 0 {
		t.Errorf("%+v, %v", s.Findings, err)
	}
}

// Discord's answers say that it is tomorrow: the host's clock is off by a day, which
// status names.
func TestAClockThatIsOffByADayIsNamed(t *testing.T) {
	s := discordtest.New(t)
	s.Ahead = 24 * time.Hour
	p := stage.NewPier(t, s, "", "", "")
	host := p.Serve()
	defer host.Stop()
	client := operator.NewClient(filepath.Join(p.Dir, "state"))
	var faults []finding.Finding
	s.Wait(t, "the fault", func() bool {
		status, err := client.Status(t.Context())
		faults = status.Findings
		return err == nil && slices.ContainsFunc(faults, func(f finding.Finding) bool { return f.Name == finding.Clock })
	})
	for _, f := range faults {
		if f.Name == finding.Clock && !strings.Contains(f.Cause, "behind the platforms'") {
			t.Errorf("%+v", f)
		}
	}
}

func TestNotifyTestSaysWhatIsMissing(t *testing.T) {
	h := stage.NewChanging(t, "channels: {web: {listen: \"%LISTEN%\"}}\nlimits: {free_disk: 1MB}\n")
	for what, tt := range map[string]struct{ file, want string }{
		"no target": {h.File, "add group, webhook or ntfy below notify:"},
		"no host":   {filepath.Join(t.TempDir(), "longshore.yaml"), "serve starts one"},
	} {
		if tt.file != h.File {
			stage.Must(t, os.WriteFile(tt.file, []byte("{}\n"), 0o600))
		}
		var out bytes.Buffer
		if code := Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", tt.file, "notify", "test"}, nil, &out, &out); code != terminal.ExitFault || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: exit code %d\n%s", what, code, &out)
		}
	}
}

// BotFather has replaced the bot's token: another channel's chat is told once, with what
// to do, and once after the operator has put the new token in place and restarted.
func TestATokenThatIsRefusedIsToldOnAnotherChannel(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t, stage.DockChat)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	stage.Must(t, err)
	text := fmt.Sprintf("channels: {telegram: {token_file: bot, server: %q}, web: {listen: %q}}\nlimits: {free_disk: 1MB}\nnotify: {after: 1s, group: ops}\n"+
		"groups:\n  - {folder: dock, chat: \"tg:%d\"}\n  - {folder: ops, chat: \"web:ops\"}\n", srv.URL, port.Addr(), stage.DockChat)
	b := stage.NewBerth(t, "dock", text, map[string]string{"bot": "123456789:replaced-token-of-nobody"}, stage.ServeEnv+"=1")
	page := &stage.Changing{ChatPage: stage.ChatPage{T: t, Base: "http://" + port.Addr().String()}, Client: operator.NewClient(filepath.Join(b.Dir, "state"))}
	stage.Must(t, port.Close())
	serves := func() bool {
		s, err := page.Client.Status(t.Context())
		return err == nil && slices.ContainsFunc(s.Channels, func(c operator.Channel) bool { return c.Name == "web" && c.Connected })
	}
	told := func() []string {
		return slices.DeleteFunc(page.Texts("ops"), func(text string) bool { return !strings.Contains(text, "channel telegram") })
	}
	first := b.Start()
	page.Until("the host runs", serves)
	page.Until("the fault is told", func() bool { return len(told()) > 0 })
	if got := told(); !strings.HasPrefix(got[0], "Fault on ") || !strings.Contains(got[0], "Telegram does not accept the bot's token") {
		t.Errorf("told %q", got)
	}
	first.Stop()
	stage.Must(t, os.WriteFile(filepath.Join(b.Dir, "bot"), []byte(telegramtest.Token), 0o600))
	second := b.Start()
	page.Until("the host runs", serves)
	page.Until("the end is told", func() bool { return len(told()) > 1 })
	if got := told(); len(got) != 2 || !strings.HasPrefix(got[1], "Over on ") {
		t.Errorf("told %q", got)
	}
	second.Stop()
}
