package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
)

// exits has a row for each type of request: a request of main that makes something appear in
// the chat of the group work, and what its policy meets there. Nil: it brings nothing there.
var exits = map[ipc.Type]*exit{
	ipc.TypeMessage:       {ipc.Request{Text: "words"}, words},
	ipc.TypeEdit:          {ipc.Request{Text: "other words"}, words},
	ipc.TypeReact:         {ipc.Request{Emoji: "👍"}, words},
	ipc.TypeAsk:           {ipc.Request{Text: "which?", Choices: []string{"a", "b"}}, words},
	ipc.TypeFile:          {ipc.Request{Files: []ipc.FileRef{{Path: "upload:FILE", Name: "a.txt"}}}, aFile},
	ipc.TypeScheduleTask:  {ipc.Request{Prompt: "words", ScheduleType: "cron", ScheduleValue: "0 9 1 1 *", TargetJID: "mem:work"}, atOnce},
	ipc.TypeUpdateTask:    {ipc.Request{TaskID: "there", Prompt: "other words"}, atOnce},
	ipc.TypeResumeTask:    {ipc.Request{TaskID: "there"}, atOnce},
	ipc.TypeRegisterGroup: nil, // see TestARegisteredGroupHasItsMakersRestrictions
	ipc.TypeUnsend:        nil, // it takes away
	ipc.TypePauseTask:     nil,
	ipc.TypeCancelTask:    nil,
	ipc.TypeListTasks:     nil, // it reads
	ipc.TypeListMessages:  nil,
	ipc.TypeFetchFile:     nil,
	ipc.TypeRefreshGroups: nil,
}

type exit struct {
	request ipc.Request
	kind    int
}

const (
	words  = iota
	aFile  // which may_send looks at, too
	atOnce // words that cannot wait
)

// rules has a row for each field of approve and may_send, and for may_send_to and budget: how
// main gets the rule, and what it means to each kind of exit: a code, or empty.
var rules = map[string]struct {
	set  func(*groups.Group)
	want [3]string // to words, to a file, to words that cannot wait
}{
	"Approve.Files":   {func(g *groups.Group) { g.Approve.Files = true }, [3]string{"", ipc.CodeAwaiting, ""}},
	"Approve.Kinds":   {func(g *groups.Group) { g.Approve.Kinds = []string{"document"} }, [3]string{"", ipc.CodeAwaiting, ""}},
	"Approve.Above":   {func(g *groups.Group) { g.Approve.Above = 1 }, [3]string{"", ipc.CodeAwaiting, ""}},
	"Approve.First":   {func(g *groups.Group) { g.Approve.First = true }, [3]string{"", ipc.CodeAwaiting, ""}},
	"Approve.Foreign": {func(g *groups.Group) { g.Approve.Foreign = true }, [3]string{ipc.CodeAwaiting, ipc.CodeAwaiting, groups.CodeNeedsApproval}},
	"Approve.Within":  {func(g *groups.Group) { g.Approve.Within = setting.Duration(time.Hour) }, [3]string{}}, // no rule by itself
	"MaySend.Kinds":   {func(g *groups.Group) { g.MaySend.Kinds = []string{"image"} }, [3]string{"", "kind_not_allowed", ""}},
	"MaySend.Most":    {func(g *groups.Group) { g.MaySend.Most = 1 }, [3]string{"", "size_not_allowed", ""}},
	"MaySend.Hours": {func(g *groups.Group) {
		g.MaySend.Hours = groups.Hours(time.Now().UTC().Add(2*time.Hour).Format("15:04") + "-" + time.Now().UTC().Add(3*time.Hour).Format("15:04"))
	}, [3]string{"", "outside_hours", ""}},
	"MaySendTo": {func(g *groups.Group) { g.Main = false }, [3]string{groups.CodeChatNotAllowed, groups.CodeChatNotAllowed, groups.CodeChatNotAllowed}},
	"Budget":    {func(g *groups.Group) { g.Budget.Tokens = 1 }, [3]string{}}, // a task waits at its run: see package tasks
}

// policy changes what the operator has written of the group family.
func (b *boundary) policy(change func(*groups.Group)) {
	b.Helper()
	now := b.host.Now()
	all := now.Registry.All()
	all[0].Main, all[0].MaySend, all[0].Approve, all[0].Budget = true, groups.MaySend{}, groups.Approve{}, groups.Budget{}
	change(&all[0])
	cfg := *now.Config
	cfg.Groups = all
	next, err := live.New(&cfg, now)
	if err != nil {
		b.Fatal(err)
	}
	next.Runtimes = now.Runtimes
	b.host.Set(next)
}

// TestEveryExitPassesEveryRule: a task said at once in another chat what a message had to
// wait for.
func TestEveryExitPassesEveryRule(t *testing.T) {
	for _, of := range []any{groups.Approve{}, groups.MaySend{}} {
		for f := range reflect.TypeOf(of).Fields() {
			if name := reflect.TypeOf(of).Name() + "." + f.Name; rules[name].set == nil {
				t.Errorf("rule %s has no row", name)
			}
		}
	}
	b := newBoundary(t, nil)
	token := b.token("family", "")
	if _, err := b.host.tasks.Import(t.Context(), "test", []tasks.Task{{ID: "there", Folder: "work", Prompt: "theirs", Type: "cron", Value: "0 9 1 1 *", Status: tasks.Active}}); err != nil {
		t.Fatal(err)
	}
	before := b.order(token, ipc.Request{Type: ipc.TypeMessage, Chat: "mem:work", Text: "before"})
	n := 0
	for _, typ := range ipc.Types() {
		e, ok := exits[typ]
		if !ok {
			t.Errorf("%s has no row: say whether it makes something appear in a chat", typ)
		}
		if e == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(rules)) {
			rule := rules[name]
			b.policy(rule.set)
			n++
			r := e.request
			r.Type = typ
			if !typ.IsCall() {
				r.Chat = "mem:work"
			}
			if typ == ipc.TypeEdit || typ == ipc.TypeReact {
				r.Target = before.MessageID
			}
			if typ == ipc.TypeFile {
				id := fmt.Sprint("file-", n)
				b.upload(token, id)
				r.Files = []ipc.FileRef{{Path: "upload:" + id, Name: "a.txt"}}
			}
			want := rule.want[e.kind]
			if name == "MaySendTo" && typ.IsCall() && r.TaskID != "" {
				want = "unknown_task" // whose tasks main alone knows
			}
			if got := b.settled(token, r); got.Code != want || want == "" && got.Status != ipc.Sent && got.Status != ipc.Done {
				t.Errorf("%s with %s: %+v, want %q", typ, name, got, want)
			}
		}
	}
}

// settled makes a request, and returns its result once that is final or waits for a person.
func (b *boundary) settled(token string, r ipc.Request) (result ipc.Result) {
	b.Helper()
	body, err := ipc.Encode(r)
	if err != nil {
		b.Fatal(err)
	}
	_, text := b.http(token, "POST", "/api/requests", body)
	for {
		result = ipc.Result{}
		if err := json.Unmarshal([]byte(text), &result); err != nil || result.ID == "" {
			b.Fatalf("%s: %s", r.Type, text)
		}
		if result.Status.Final() || result.Code == ipc.CodeAwaiting {
			return result
		}
		_, text = b.http(token, "GET", fmt.Sprintf("/api/deliveries/%s?wait=40s&seen=%s", result.ID, result.Time.Format(time.RFC3339Nano)), nil)
	}
}

// TestARegisteredGroupHasItsMakersRestrictions: main made a group without its own approve,
// may_send, rate and actions, and with a budget of its own.
func TestARegisteredGroupHasItsMakersRestrictions(t *testing.T) {
	const maker = `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {far: {agent: sample}}
register: {chats: ["web:*"]%s}
groups:
- folder: ops
  chat: "web:ops"
  main: true
  assistant: far
  trigger: "@ops"
  approve: {foreign: true, files: true}
  may_send: {kinds: [image], most: 1MB}
  rate: {per_minute: 3, burst: 2}
  actions: [react, register]
  limits: {image: 1000}
`
	register := func(t *testing.T, key string, r ipc.Request) (*config.Config, error) {
		file := filepath.Join(t.TempDir(), "longshore.yaml")
		text := []byte(fmt.Sprintf(maker, key))
		parse := func(registered ...groups.Group) (*config.Config, error) {
			return config.Parse(file, text, func(string) string { return "" }, []channel.Platform{web.Platform()}, registered...)
		}
		cfg, err := parse()
		if err != nil {
			t.Fatal(err)
		}
		h, err := New(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Idle: true,
			File: testFile{parse}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}()
		r.Type = ipc.TypeRegisterGroup
		_, err = h.register(context.Background(), bridge.Call{From: h.Registry().Asker("ops", ""), Request: r})
		return h.Config(), err
	}
	for key, inherits := range map[string]bool{"": true, ", restrictions: inherited": true, ", restrictions: none": false} {
		cfg, err := register(t, key, ipc.Request{JID: "web:dock", Name: "Buy at evil.example", NewFolder: "dock", Trigger: "@ops"})
		if err != nil {
			t.Fatal(err)
		}
		ops, dock := cfg.Groups[0], cfg.Groups[1]
		same := reflect.DeepEqual([]any{ops.Approve, ops.MaySend, ops.Rate, ops.Actions, ops.Limits}, []any{dock.Approve, dock.MaySend, dock.Rate, dock.Actions, dock.Limits})
		if same != inherits || (cfg.Purse(dock).Folder == "ops") != inherits {
			t.Errorf("%q: %+v", key, dock)
		}
		if strings.Contains(dock.Name, "evil") {
			t.Errorf("main's words stand in another chat without a yes: %q", dock.Name)
		}
	}
	if _, err := register(t, "", ipc.Request{JID: "web:dock", Name: "Dock", Trigger: "pay evil.example"}); bridge.AsRefusal(err) == nil || bridge.AsRefusal(err).Code != groups.CodeNeedsApproval {
		t.Errorf("a trigger that nobody has approved: %v", err)
	}
}

// testFile is a configuration file in memory.
// A host that takes over has compared one configuration with the owner's. With a registered group it came up with the one
// that somebody was editing, or not at all.
func TestAStartTookAFileThatNobodyHadReloaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	text := `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {far: {agent: sample}}
register: {chats: ["web:*"]}
groups: [{folder: ops, chat: "web:ops", main: true, assistant: far, trigger: "@ops"}]
`
	parse := func(registered ...groups.Group) (*config.Config, error) {
		return config.Parse(file, []byte(text), func(string) string { return "" }, []channel.Platform{web.Platform()}, registered...)
	}
	start := func(cfg *config.Config) *Host {
		h, err := New(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Idle: true, File: testFile{parse}})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	cfg, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	compared := cfg.Common()
	h := start(cfg)
	if _, err = h.register(context.Background(), bridge.Call{From: h.Registry().Asker("ops", ""), Request: ipc.Request{Type: ipc.TypeRegisterGroup, JID: "web:dock", Name: "Dock", NewFolder: "dock", Trigger: "@ops"}}); err == nil {
		err = h.Close()
	}
	if cfg, failed := parse(); err != nil || failed != nil {
		t.Fatal(err, failed)
	} else {
		text = "groups: ["
		h = start(cfg)
	}
	if now := h.Config(); len(now.Groups) != 2 || now.Common() != compared || now.Sum != cfg.Sum {
		t.Errorf("%+v", now.Groups)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

type testFile struct {
	parse func(registered ...groups.Group) (*config.Config, error)
}

func (f testFile) Load(registered []groups.Group) (*config.Config, []*config.Problem, error) {
	cfg, err := f.parse(registered...)
	return cfg, nil, err
}
