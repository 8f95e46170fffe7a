package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// platform is a channel that answers as it is told to.
type platform struct {
	fails atomic.Pointer[channel.Error]
	hangs atomic.Bool // until the context of a send ends
}

func (p *platform) Name() string              { return "mem" }
func (p *platform) Owns(chat groups.JID) bool { return chat.Channel() == "mem" }
func (p *platform) Limits() media.Limits      { return media.Limits{} }
func (p *platform) Repeat() channel.Repeat    { return channel.Repeat{Keyed: channel.Forever} }
func (p *platform) Connected() (bool, string) { return p.fails.Load() == nil, "as told" }

func (p *platform) Run(ctx context.Context, _ channel.Inbox) error {
	<-ctx.Done()
	return nil
}

func (p *platform) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if p.hangs.Load() {
		<-ctx.Done()
		return channel.Receipt{}, ctx.Err()
	}
	if e := p.fails.Load(); e != nil {
		return channel.Receipt{}, e
	}
	return channel.Receipt{ID: "p-" + m.ID[:4]}, nil
}

// counter is a host's Local over a real outbox.
type counter struct {
	*operator.Local
	rooms    *rooms
	t        *testing.T
	outbox   *outbox.Outbox
	platform *platform
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	c := &counter{t: t, platform: &platform{}}
	layout := groups.Layout{State: filepath.Join(t.TempDir(), "state")}
	all := []groups.Group{
		{Name: "Family", Folder: "family", Chat: "mem:family"},
		{Name: "Work", Folder: "work", Chat: "mem:work", Main: true},
	}
	if err := layout.Prepare(all); err != nil {
		t.Fatal(err)
	}
	var err error
	c.outbox, err = outbox.Open(t.Context(), outbox.Options{State: statetest.Open(t, layout.Own()), Channels: []channel.Channel{c.platform}, Settings: outbox.Fixed{Limits: outbox.Limits{FreeDisk: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.outbox.Close(); err != nil {
			t.Error(err)
		}
	})
	c.rooms = &rooms{groups: all, status: []turns.Status{{Folder: "family", State: "running"}}, turns: map[string]turns.Turns{}}
	c.rooms.accept = func(s operator.Send) records.Delivery { return c.accept(s.Group, s.Name, s.Caption) }
	o := c.rooms.options(layout, c.platform)
	o.Outbox, o.Version = c.outbox, "v0"
	c.Local = operator.NewLocal(o)
	return c
}

// accept puts a delivery with one small file into the outbox.
func (c *counter) accept(folder, name, caption string) records.Delivery {
	c.t.Helper()
	blob, err := c.outbox.Copy(c.t.Context(), strings.NewReader("bytes"), 5)
	if err != nil {
		c.t.Fatal(err)
	}
	d := records.Delivery{
		Key: fmt.Sprintf("%032x", time.Now().UnixNano()), Folder: folder, Request: "r-" + name,
		Channel: "mem", Chat: groups.JID("mem:" + folder),
		Parts: []records.Part{{Text: caption, Files: []records.File{{
			Info: media.Info{Name: name, Kind: media.Document, MIME: "text/plain", Size: 5}, SHA256: blob.SHA256, Blob: blob.Name, Bytes: blob.Bytes,
		}}}},
	}
	if err := c.outbox.Put(c.t.Context(), []records.Delivery{d}); err != nil {
		c.t.Fatal(err)
	}
	return d
}

// work lets the outbox send until the delivery of that id has a state.
// decide answers an approval as the host does.
func (c *counter) decide(ctx context.Context, id string, yes bool) error {
	a, err := c.outbox.Approval(ctx, id)
	if err != nil {
		return err
	}
	return c.outbox.Answer(ctx, a, map[bool]string{true: records.AnswerYes, false: records.AnswerNo}[yes], "operator")
}

func (c *counter) work(id, state string) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	done := make(chan error, 1)
	go func() { done <- c.outbox.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	}()
	await(c.t, func() bool {
		item, err := c.Show(ctx, id)
		return err == nil && item.State == state
	})
}

func codeOf(err error) string {
	var e *refusal.Error
	if !errors.As(err, &e) {
		return fmt.Sprint(err)
	}
	return e.Code
}

func TestADeliveryFailsIsRetriedAndArrives(t *testing.T) {
	c := newCounter(t)
	ctx := t.Context()
	d := c.accept("family", "a.txt", "hello")
	c.accept("work", "b.txt", "")

	items, err := c.List(ctx, operator.Filter{})
	if err != nil || len(items) != 2 || items[0].ID != d.Key || items[0].Bytes != 5 || items[0].Files != 1 {
		t.Fatalf("got %+v, %v", items, err)
	}
	if items, _ = c.List(ctx, operator.Filter{Group: "work"}); len(items) != 1 || items[0].Group != "work" {
		t.Errorf("of one group: %+v", items)
	}
	if items, _ = c.List(ctx, operator.Filter{Limit: 1}); len(items) != 1 || items[0].Group != "work" {
		t.Errorf("the newest one: %+v", items)
	}

	c.platform.fails.Store(&channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "not in this chat", Hint: "join it"})
	c.work(d.Key, "failed")
	items, err = c.List(ctx, operator.Filter{Failed: true, Group: "family"})
	if err != nil || len(items) != 1 || items[0].Code != "not_a_member" || items[0].Hint != "join it" {
		t.Fatalf("errors: %+v, %v", items, err)
	}

	c.platform.fails.Store(nil)
	if err := c.Retry(ctx, d.Key[:31]); err != nil {
		t.Fatal(err)
	}
	c.work(d.Key, "sent")
	item, err := c.Show(ctx, d.Key)
	if err != nil {
		t.Fatal(err)
	}
	if p := item.Parts[0]; p.PlatformID == "" || p.Name != "a.txt" || p.Text != "hello" || len(p.SHA256) != 64 || p.Code != "" {
		t.Errorf("part %+v", p)
	}
	if items, _ = c.List(ctx, operator.Filter{All: true}); len(items) != 2 {
		t.Errorf("all: %+v", items)
	}
}

// TestAGroupsUseOfItsQuotaIsShown while messages are open, and after they have failed.
func TestAGroupsUseOfItsQuotaIsShown(t *testing.T) {
	c := newCounter(t)
	used := func() operator.Use {
		t.Helper()
		s, err := c.Status(t.Context())
		if err != nil || s.Groups[1].Use != (operator.Use{}) {
			t.Fatalf("%+v, %v", s.Groups, err)
		}
		return s.Groups[0].Use
	}
	blob, err := c.outbox.Copy(t.Context(), strings.NewReader("linked"), 6)
	if err != nil {
		t.Fatal(err)
	}
	l := records.Link{ID: strings.Repeat("a", 32), Expires: time.Now().Add(time.Hour), File: records.File{Info: media.Info{Name: "b.txt", Size: 6}, SHA256: blob.SHA256, Blob: blob.Name, Bytes: blob.Bytes}}
	if err := c.outbox.Put(t.Context(), []records.Delivery{{Key: strings.Repeat("b", 32), Folder: "family", Request: "r", Channel: "mem", Chat: "mem:family", Parts: []records.Part{{Text: "see", Link: &l}}}}); err != nil {
		t.Fatal(err)
	}
	c.rooms.inbox = map[string]int64{"family": 7}
	c.work(strings.Repeat("b", 32), "sent")
	d := c.accept("family", "a.txt", "")
	if got := used(); got != (operator.Use{Pending: 1, Bytes: 5, Inbox: 7, Links: 6}) {
		t.Errorf("while it waits: %+v", got)
	}
	c.platform.fails.Store(&channel.Error{Class: channel.Permanent, Code: "not_a_member", Message: "not in this chat"})
	c.work(d.Key, "failed")
	if got := used(); got != (operator.Use{Retained: 5, Inbox: 7, Links: 6}) {
		t.Errorf("after it has failed: %+v", got)
	}
}

func TestADropSettles(t *testing.T) {
	c := newCounter(t)
	d := c.accept("family", "a.txt", "")
	if err := c.Drop(t.Context(), d.Key); err != nil {
		t.Fatal(err)
	}
	item, err := c.Show(t.Context(), d.Key)
	if err != nil || item.State != "dropped" || item.Parts[0].Code != "dropped" {
		t.Errorf("%+v, %v", item, err)
	}
}

// TestADropOfWhatWaitedWasNoAnswer: it went past the way by which an operator says no, which
// records the answer in the trail.
func TestADropOfWhatWaitedWasNoAnswer(t *testing.T) {
	c := newCounter(t)
	var answers []string
	c.rooms.decide = func(ctx context.Context, id string, yes bool) error {
		answers = append(answers, fmt.Sprint(id, " ", yes))
		return c.decide(ctx, id, yes)
	}
	d := records.Delivery{Key: strings.Repeat("c", 32), Folder: "family", Request: "r", Channel: "mem", Chat: "mem:family", Parts: []records.Part{{Text: "hi"}},
		Approval: &records.Ask{Rule: "approve.foreign", Expires: time.Now().Add(time.Hour)}}
	if err := c.outbox.Put(t.Context(), []records.Delivery{d}); err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(t.Context(), d.Key[:8]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{d.Key + " false"}, answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if item, err := c.Show(t.Context(), d.Key); err != nil || item.State != "refused" {
		t.Errorf("%+v, %v", item, err)
	}
	if err := c.Drop(t.Context(), d.Key); codeOf(err) != operator.CodeSettled || len(answers) != 1 {
		t.Errorf("a second drop: %v, answers %q", err, answers)
	}
}

// TestWhatHasEndedOrIsBeingSentIsLeftAlone, and the operator reads which of the two it is.
func TestWhatHasEndedOrIsBeingSentIsLeftAlone(t *testing.T) {
	c := newCounter(t)
	ctx := t.Context()
	sent := c.accept("family", "a.txt", "")
	c.work(sent.Key, "sent")
	for what, err := range map[string]error{"drop": c.Drop(ctx, sent.Key), "retry": c.Retry(ctx, sent.Key)} {
		if codeOf(err) != operator.CodeSettled {
			t.Errorf("%s of what was sent: %v", what, err)
		}
	}
	c.platform.hangs.Store(true)
	hangs := c.accept("family", "b.txt", "")
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.outbox.Run(run) }()
	await(t, func() bool {
		item, err := c.Show(ctx, hangs.Key)
		return err == nil && item.State == "sending"
	})
	if err := c.Drop(ctx, hangs.Key); codeOf(err) != operator.CodeSending {
		t.Errorf("drop of what is being sent: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAnOutboxThatCannotBeWrittenIsUnwell for those who watch the host.
func TestAnOutboxThatCannotBeWrittenIsUnwell(t *testing.T) {
	c := newCounter(t)
	if err := os.RemoveAll(filepath.Join(c.Layout.Own(), "blobs")); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	c.Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var answer struct{ Error refusal.Error }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusServiceUnavailable || answer.Error.Code != operator.CodeUnwell {
		t.Errorf("%d %s, %v", w.Code, w.Body, err)
	}
}

// A database without room for one more connection left an error in place of the whole status.
func TestAStateThatCannotBeReadLeftNoStatus(t *testing.T) {
	c := newCounter(t)
	if _, err := statetest.Raw(t, c.Layout.Own()).Exec(`ALTER TABLE link RENAME TO elsewhere`); err != nil {
		t.Fatal(err)
	}
	s, err := c.Status(t.Context())
	if err != nil || len(s.Groups) != 2 || len(s.Findings) != 1 || s.Findings[0].Name != finding.State || !strings.Contains(s.Findings[0].Cause, "link") {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestWhatCannotBeDoneIsSaidSo(t *testing.T) {
	c := newCounter(t)
	ctx := t.Context()
	open := c.accept("family", "a.txt", "")
	empty := operator.NewLocal(operator.Options{Layout: c.Layout})
	for name, got := range map[string]struct {
		err  error
		want string
	}{
		"retry of what is open":  {c.Retry(ctx, open.Key), operator.CodeNotFailed},
		"retry of nothing":       {c.Retry(ctx, strings.Repeat("f", 32)), operator.CodeNotFound},
		"drop of nothing":        {c.Drop(ctx, "a\x1b]0;x"), operator.CodeNotFound},
		"too short an id":        {c.Retry(ctx, open.Key[:3]), operator.CodeNotFound},
		"no request of the name": {c.Retry(ctx, "family-x.json"), operator.CodeNotFound},
		"a name that leads out":  {c.Drop(ctx, "../../groups/family/x.json"), operator.CodeNotFound},
		"no outbox: retry":       {empty.Retry(ctx, open.Key), operator.CodeNotFound},
		"no outbox: drop":        {empty.Drop(ctx, open.Key), operator.CodeNotFound},
	} {
		if codeOf(got.err) != got.want {
			t.Errorf("%s: got %v, want %s", name, got.err, got.want)
		}
	}
	if _, err := c.Send(ctx, operator.Send{Group: "nobody"}); codeOf(err) != operator.CodeNotFound {
		t.Errorf("send: %v", err)
	}
}

func TestStatusSaysWhatGoesOn(t *testing.T) {
	c := newCounter(t)
	c.accept("family", "a.txt", "")
	request := c.Layout.IPC("family", "messages")
	for _, name := range []string{"1.json", "2.json", ".3.json.tmp"} {
		if err := os.WriteFile(filepath.Join(request, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !s.Running || s.PID != os.Getpid() || s.Disk.Total == 0 || len(s.Failures) != 0 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]operator.Channel{{Name: "mem", Connected: true, Detail: "as told"}}, s.Channels); diff != "" {
		t.Error(diff)
	}
	family, work := s.Groups[0], s.Groups[1]
	if family.Pending != 1 || family.Bytes != 5 || family.Waiting != 2 || family.Oldest.IsZero() || family.Channel != "mem" {
		t.Errorf("%+v", family)
	}
	if work.Pending != 0 || !work.Main || !work.Oldest.IsZero() {
		t.Errorf("%+v", work)
	}
}

func TestHealthAndMetrics(t *testing.T) {
	c := newCounter(t)
	h := c.Health()
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		body, _ := io.ReadAll(w.Body)
		return w.Code, string(body)
	}
	if code, body := get("/healthz"); code != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("%d %s", code, body)
	}
	c.accept("family", "a.txt", "")
	if err := os.WriteFile(filepath.Join(c.Layout.IPC("work", "messages"), "1.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, body := get("/metrics")
	for _, line := range []string{
		"longshore_outbox_pending_parts 1",
		"longshore_outbox_pending_bytes 5",
		`longshore_channel_connected{channel="mem"} 1`,
		`longshore_channel_held{channel="mem"} 0`,
		`longshore_assistants{state="running"} 1`,
		`longshore_outbox_settled_total{outcome="sent"} 0`,
		"longshore_errors_requests 0",
		"longshore_queue_requests 1",
		"process_open_fds",
		"go_goroutines",
	} {
		if !strings.Contains(body, line) {
			t.Errorf("no %s in\n%s", line, body)
		}
	}
	c.platform.fails.Store(&channel.Error{})
	if _, body := get("/metrics"); !strings.Contains(body, `longshore_channel_connected{channel="mem"} 0`) {
		t.Error("a channel that is down counts as connected")
	}
}
