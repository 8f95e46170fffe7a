package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	taskstore "github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// boundary is a host with the groups family, which is main, work, and far, whose chat is of
// another account, and with a remote server.
type boundary struct {
	*testing.T
	host   *Host
	url    string
	mem    *memory.Channel
	other  *memory.Channel
	client *http.Client
}

// newBoundary begins with what the groups have beside, by folder.
func newBoundary(t *testing.T, more map[string]string) *boundary {
	t.Helper()
	text := `
state: ./state
remote: {listen: "ADDRESS"}
limits: {rate: {per_minute: 1000000, burst: 100000}, free_disk: 1MB, pending: 1000}
assistants: {far: {runtime: remote}}
register: {chats: ["mem:*"]}
groups:
`
	for _, g := range []string{`folder: family, chat: "mem:family", main: true`, `folder: work, chat: "mem:work"`, `folder: far, chat: "mem:far"`} {
		folder, _, _ := strings.Cut(strings.TrimPrefix(g, "folder: "), ",")
		text += fmt.Sprintf("- {%s, assistant: far, gather: {after: 0s}%s}\n", g, more[folder])
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	text = strings.Replace(text, "ADDRESS", address, 1)
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	cfg, err := config.Parse(file, []byte(text), func(string) string { return "" }, []channel.Platform{web.Platform()})
	if err != nil {
		t.Fatal(err)
	}
	limits := media.DefaultLimits()
	limits.Threads = true
	b := &boundary{T: t, mem: memory.New(memory.Options{Limits: limits}), other: memory.New(memory.Options{Name: "other", Prefix: "mem:far", Limits: limits}), client: &http.Client{}}
	all := []channel.Channel{memory.Acting{Channel: b.mem}, memory.Acting{Channel: b.other}}
	for i := range cfg.Groups {
		cfg.Groups[i].Channel = "memory"
		if b.other.Owns(cfg.Groups[i].Chat) {
			cfg.Groups[i].Channel = "other"
		}
	}
	o := Options{Log: slog.New(slog.DiscardHandler), Channels: all}
	if b.host, err = New(t.Context(), cfg, o); err != nil {
		t.Fatal(err)
	}
	b.url = "http://" + address
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.host.Run(ctx) }()
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-ended, b.host.Close()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *boundary) token(folder, thread string) string {
	b.Helper()
	made, err := b.host.remote.Make(b.Context(), folder, thread, "")
	if err != nil {
		b.Fatal(err)
	}
	return made.Secret
}

// http makes a call, and returns its status and body.
func (b *boundary) http(token, method, path string, body []byte, headers ...string) (int, string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, b.url+path, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// order sends the remote server a request, and waits for its end.
func (b *boundary) order(token string, r ipc.Request) (result ipc.Result) {
	b.Helper()
	body, err := ipc.Encode(r)
	if err != nil {
		b.Fatal(err)
	}
	status, text := b.http(token, "POST", "/api/requests?wait=40s", body)
	if err := json.Unmarshal([]byte(text), &result); err != nil || result.Status == "" {
		var refused struct{ Error ipc.Refusal }
		_ = json.Unmarshal([]byte(text), &refused)
		result = ipc.Result{Status: ipc.Refused, Code: refused.Error.Code, Message: refused.Error.Message, Hint: refused.Error.Hint}
	}
	if result.Code == "" && status >= 400 {
		b.Fatalf("%s: %d %s", r.Type, status, text)
	}
	return result
}

func (b *boundary) upload(token, id string) {
	b.Helper()
	sum := sha256.Sum256([]byte("xx"))
	if status, text := b.http(token, "PUT", "/api/files/"+id, []byte("xx"), "Upload-Length", "2", "Upload-SHA256", hex.EncodeToString(sum[:])); status != http.StatusOK {
		b.Fatal(text)
	}
}

// things are the ids of what lies in a conversation.
type things struct {
	token                             string
	delivery, message, upload, member string // message and member are the platform's ids
	task, secret, inbox, cursor       string // secret is what the task's prompt says
}

// live makes one of each thing in a conversation.
func (b *boundary) live(folder, thread string) (s things) {
	b.Helper()
	s.token = b.token(folder, thread)
	g, _ := b.host.Registry().ByFolder(folder)
	s.member = "member-" + folder + "-" + thread
	mem := b.mem
	if g.Channel == "other" {
		mem = b.other
	}
	if err := mem.Say(b.Context(), channel.Inbound{Chat: g.Chat, Thread: thread, ID: s.member, From: "Ann", Sender: "U1", Text: "hello"}); err != nil {
		b.Fatal(err)
	}
	var in ipc.Inbox
	_, text := b.http(s.token, "GET", "/api/inbox?wait=40s", nil)
	if err := json.Unmarshal([]byte(text), &in); err != nil || len(in.Messages) != 1 {
		b.Fatalf("the inbox of %s %q: %s", folder, thread, text)
	}
	s.inbox, s.cursor = in.Messages[0].ID, in.Cursor
	sent := b.order(s.token, ipc.Request{Type: ipc.TypeMessage, Text: "from " + folder + thread})
	s.delivery, s.message = sent.ID, sent.MessageID
	s.task, s.secret = "task-"+folder+"-"+thread+"x", "secret of "+folder+thread+"."
	if got := b.order(s.token, ipc.Request{Type: ipc.TypeScheduleTask, TaskID: s.task, Prompt: s.secret, ScheduleType: "cron", ScheduleValue: "0 9 1 1 *"}); got.Status != ipc.Done {
		b.Fatalf("schedule: %+v", got)
	}
	s.upload = "up-" + folder + thread
	b.upload(s.token, s.upload)
	if s.message == "" {
		b.Fatalf("%+v", sent)
	}
	return s
}

// naming has a row for each type of request: requests that name each thing that the type can
// name. Nil: it names nothing of a conversation.
var naming = map[ipc.Type]func(things) []ipc.Request{
	ipc.TypeMessage: func(s things) []ipc.Request {
		return []ipc.Request{{Text: "x", ReplyTo: s.message}, {Text: "x", ReplyTo: s.member}}
	},
	ipc.TypeFile: func(s things) []ipc.Request {
		return []ipc.Request{
			{ReplyTo: s.message, Files: []ipc.FileRef{{Path: "upload:", Name: "a.txt"}}},
			{Files: []ipc.FileRef{{Path: "upload:" + s.upload, Name: "a.txt"}}},
		}
	},
	ipc.TypeAsk: func(s things) []ipc.Request {
		return []ipc.Request{{Text: "which?", Choices: []string{"a", "b"}, ReplyTo: s.message}}
	},
	ipc.TypeReact: func(s things) []ipc.Request {
		return []ipc.Request{{Target: s.message, Emoji: "👍"}, {Target: s.delivery, Emoji: "👍"}, {Target: s.member, Emoji: "👍"}}
	},
	ipc.TypeEdit: func(s things) []ipc.Request {
		return []ipc.Request{{Target: s.message, Text: "forged"}, {Target: s.delivery, Text: "forged"}}
	},
	ipc.TypeUnsend: func(s things) []ipc.Request {
		return []ipc.Request{{Target: s.message}, {Target: s.delivery}}
	},
	ipc.TypeScheduleTask: func(s things) []ipc.Request {
		return []ipc.Request{{TaskID: s.task, Prompt: "x", ScheduleType: "cron", ScheduleValue: "0 9 1 1 *"}}
	},
	ipc.TypeUpdateTask:   func(s things) []ipc.Request { return []ipc.Request{{TaskID: s.task, Prompt: "forged"}} },
	ipc.TypePauseTask:    func(s things) []ipc.Request { return []ipc.Request{{TaskID: s.task}} },
	ipc.TypeResumeTask:   func(s things) []ipc.Request { return []ipc.Request{{TaskID: s.task}} },
	ipc.TypeCancelTask:   func(s things) []ipc.Request { return []ipc.Request{{TaskID: s.task}} },
	ipc.TypeListMessages: func(s things) []ipc.Request { return []ipc.Request{{Before: s.message}, {Before: s.member}} },
	ipc.TypeFetchFile: func(s things) []ipc.Request {
		return []ipc.Request{{Target: s.message}, {Target: s.member}, {Target: s.delivery}}
	},
	ipc.TypeListTasks:     nil, // it names nothing; what it lists is looked at below
	ipc.TypeRegisterGroup: nil, // a chat and a folder are no things of a conversation
	ipc.TypeRefreshGroups: nil,
}

// at is a request with the chat in which it looks.
func at(r ipc.Request, typ ipc.Type, chat string) ipc.Request {
	r.Type, r.Chat = typ, chat
	return r
}

// TestATokenOfOneThreadFindsNothingOfAnother walks every type of request with every kind of
// foreign id: each answers exactly as an id that never was.
func TestATokenOfOneThreadFindsNothingOfAnother(t *testing.T) {
	b := newBoundary(t, map[string]string{"work": ", may_send_to: [far]"})
	far := b.token("far", "")
	for range 8 { // a platform's ids are those of its account: no id of far is one of the others
		b.order(far, ipc.Request{Type: ipc.TypeMessage, Text: "x"})
	}
	own := map[string]things{"family": b.live("family", "t1"), "work": b.live("work", "t1")}
	foreign := map[string][]things{
		"family": {b.live("family", ""), b.live("family", "t2"), own["work"], b.live("far", "t1")},
	}
	foreign["work"] = []things{own["family"], foreign["family"][0], foreign["family"][3], b.live("work", "t2")}
	last := func(typ ipc.Type) bool { return typ == ipc.TypeScheduleTask } // it makes tasks of the foreign ids
	types := append(slices.DeleteFunc(ipc.Types(), last), ipc.TypeScheduleTask)
	for _, typ := range types {
		make, ok := naming[typ]
		if !ok {
			t.Errorf("%s has no row: say what its requests name", typ)
			continue
		}
		if make == nil {
			continue
		}
		t.Run(string(typ), func(t *testing.T) {
			for folder, mine := range own {
				for i, s := range foreign[folder] {
					compare(b, mine.token, "", typ, make, s, fmt.Sprintf("never%d%s", i, folder))
					if !typ.IsCall() {
						compare(b, mine.token, "mem:far", typ, make, s, fmt.Sprintf("never%d%sfar", i, folder))
					}
				}
			}
		})
	}
	for _, folder := range []string{"family", "work"} {
		listed := string(b.order(own[folder].token, ipc.Request{Type: ipc.TypeListTasks}).Data)
		for _, s := range foreign[folder] {
			if strings.Contains(listed, s.secret) {
				t.Errorf("%s lists %s", folder, s.task)
			}
		}
		if !strings.Contains(listed, own[folder].secret) {
			t.Errorf("%s does not list its own task: %s", folder, listed)
		}
	}
	b.untouched(slices.Concat(slices.Collect(maps.Values(own)), foreign["family"], foreign["work"]))
}

// compare has a request name a foreign thing, and the same request a thing that never was.
func compare(b *boundary, token, chat string, typ ipc.Type, make func(things) []ipc.Request, s things, never string) {
	b.Helper()
	unknown := make(things{delivery: never, message: never, upload: never, member: never, task: never})
	for i, r := range make(s) {
		named := s.upload
		for _, id := range []string{r.ReplyTo, r.Target, r.TaskID, r.Before} {
			if id != "" {
				named = id
			}
		}
		if typ == ipc.TypeFile && r.ReplyTo != "" {
			for of, file := range map[string]*ipc.FileRef{"got-": &r.Files[0], "want-": &unknown[i].Files[0]} {
				id := of + never
				b.upload(token, id)
				file.Path = "upload:" + id
			}
		}
		got, want := b.order(token, at(r, typ, chat)), b.order(token, at(unknown[i], typ, chat))
		if diff := cmp.Diff(saysOf(want, never), saysOf(got, named)); diff != "" {
			b.Errorf("%s of %s, request %d in chat %q, does not answer as unknown: %s", typ, named, i, chat, diff)
		}
	}
}

// saysOf is what a result says, without the id that the request named.
func saysOf(r ipc.Result, id string) string {
	words := strings.Join([]string{string(r.Status), r.Code, r.Message, r.Hint, string(r.Data)}, "\n")
	return strings.ReplaceAll(words, id, "ID")
}

// untouched fails the test if a chat or a task shows forged words, or less than before.
func (b *boundary) untouched(all []things) {
	b.Helper()
	for _, mem := range []*memory.Channel{b.mem, b.other} {
		for _, chat := range []groups.JID{"mem:family", "mem:work", "mem:far"} {
			for _, m := range mem.Shown(chat) {
				if m.Gone || m.Edits > 0 || m.Reaction != "" {
					b.Errorf("%s shows %+v", chat, m)
				}
			}
		}
	}
	tasks, err := b.host.tasks.List(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range all {
		i := slices.IndexFunc(tasks, func(t taskstore.Task) bool { return t.ID == s.task })
		if i < 0 || tasks[i].Prompt != s.secret || tasks[i].Status != taskstore.Active {
			b.Errorf("the task %s is %+v", s.task, tasks)
		}
	}
}

// TestATokenOfOneThreadUsesItsOwn: the boundary takes nothing of the conversation itself, nor
// of a token without a thread, which is the whole group.
func TestATokenOfOneThreadUsesItsOwn(t *testing.T) {
	b := newBoundary(t, nil)
	own, whole := b.live("family", "t1"), b.live("family", "")
	for _, tt := range []struct {
		token string
		r     ipc.Request
	}{
		{own.token, ipc.Request{Type: ipc.TypeMessage, Text: "x", ReplyTo: own.member}},
		{own.token, ipc.Request{Type: ipc.TypeMessage, Text: "x", ReplyTo: own.message}},
		{own.token, ipc.Request{Type: ipc.TypeReact, Target: own.message, Emoji: "👍"}},
		{own.token, ipc.Request{Type: ipc.TypeEdit, Target: own.message, Text: "one"}},
		{own.token, ipc.Request{Type: ipc.TypeUpdateTask, TaskID: own.task, Prompt: "x"}},
		{own.token, ipc.Request{Type: ipc.TypePauseTask, TaskID: own.task}},
		{own.token, ipc.Request{Type: ipc.TypeListMessages, Before: own.message}},
		{whole.token, ipc.Request{Type: ipc.TypeEdit, Target: own.delivery, Text: "two"}},
		{whole.token, ipc.Request{Type: ipc.TypeResumeTask, TaskID: own.task}},
		{whole.token, ipc.Request{Type: ipc.TypeMessage, Text: "x", ReplyTo: own.member}},
		{own.token, ipc.Request{Type: ipc.TypeUnsend, Target: own.delivery}},
		{own.token, ipc.Request{Type: ipc.TypeCancelTask, TaskID: own.task}},
	} {
		if got := b.order(tt.token, tt.r); got.Status != ipc.Sent && got.Status != ipc.Done {
			t.Errorf("%s %+v: %+v", tt.r.Type, tt.r, got)
		}
	}
	elsewhere := b.order(own.token, ipc.Request{Type: ipc.TypeMessage, Chat: "mem:work", Text: "for you"})
	edit := ipc.Request{Type: ipc.TypeEdit, Chat: "mem:work", Target: elsewhere.ID, Text: "for you all"}
	if got := b.order(b.token("family", "t2"), edit); got.Code != "unknown_message" {
		t.Errorf("another thread edits what this one sent to another chat: %+v", got)
	}
	if got := b.order(own.token, edit); got.Status != ipc.Sent {
		t.Errorf("its own message in another chat: %+v", got)
	}
}

// TestTheDoorsAddressesKnowOneConversation: every address that takes an id answers a foreign
// one as one that never was.
func TestTheDoorsAddressesKnowOneConversation(t *testing.T) {
	b := newBoundary(t, nil)
	token := b.token("family", "t1")
	for _, s := range []things{b.live("family", ""), b.live("family", "t2"), b.live("work", "t1")} {
		for _, tt := range []struct{ method, path, id string }{
			{"GET", "/api/deliveries/%s", s.delivery},
			{"DELETE", "/api/deliveries/%s", s.delivery},
			{"HEAD", "/api/files/%s", s.upload},
			{"DELETE", "/api/files/%s", s.upload},
			{"POST", "/api/inbox/%s/ack", s.inbox},
			{"POST", "/api/inbox/%s/unheard", s.inbox},
			{"GET", "/api/inbox/%s/files/1", s.inbox},
			{"GET", "/api/inbox?after=%s", s.cursor},
			{"GET", "/api/permissions/%s", s.delivery},
		} {
			never := strings.Repeat("0", len(tt.id))
			gotStatus, got := b.http(token, tt.method, fmt.Sprintf(tt.path, tt.id), nil)
			status, want := b.http(token, tt.method, fmt.Sprintf(tt.path, never), nil)
			if gotStatus != status || strings.ReplaceAll(got, tt.id, "ID") != strings.ReplaceAll(want, never, "ID") || status < 400 {
				t.Errorf("%s %s: %d %s, and of none %d %s", tt.method, tt.path, gotStatus, got, status, want)
			}
		}
	}
}
