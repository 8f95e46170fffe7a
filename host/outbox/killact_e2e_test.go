//go:build e2e

package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// acting is a remote whose account can change what it sent. Its platform knows a
// message by its first text.
type acting struct{ *remote }

func (a acting) EditWithin() time.Duration   { return channel.Forever }
func (a acting) UnsendWithin() time.Duration { return channel.Forever }

func (a acting) Edit(ctx context.Context, c channel.Change) error { return a.change(ctx, c, c.Text) }

func (a acting) Unsend(ctx context.Context, c channel.Change) error {
	return a.change(ctx, c, "removed")
}

func (a acting) change(ctx context.Context, c channel.Change, text string) error {
	status, err := get(ctx, http.MethodPost, a.url+"/change", url.Values{"chat": {string(c.Chat)}, "target": {c.Target}, "text": {text}}, nil)
	if err != nil {
		return &channel.Error{Class: channel.Ambiguous, Message: "no answer", Err: err}
	}
	if status == http.StatusNotFound {
		return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "no such message"}
	}
	a.kill.at("changed")
	return nil
}

// change shows another text in the place of a message; false if the chat has not had it.
func (p *platform) change(q url.Values) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.first[q.Get("chat")], q.Get("target"))
	if i >= 0 {
		p.shown[q.Get("chat")][i] = q.Get("text")
	}
	return i >= 0
}

// withActs adds to a request an edit of its text and the removal of its file.
func withActs(d records.Delivery, name string) records.Delivery {
	d.Parts = append(d.Parts,
		records.Part{Text: name + "c", Act: &records.Act{Verb: records.VerbEdit, Target: name + "a"}},
		records.Part{Act: &records.Act{Verb: records.VerbUnsend, Target: name + "b", Files: true}})
	return d
}

// A host that is killed around an edit or an unsend makes it again: the chat shows each
// message once, in its place, changed.
func TestKilledAroundAChange(t *testing.T) {
	want := map[string][]string{}
	for i := range 3 {
		name, chat, _ := request(i)
		want[string(chat)] = []string{name + "c", "removed"}
	}
	for step, times := range map[string][]int{
		"sending": {3, 4, 8, 12}, "changed": {1, 2, 3, 6}, "acknowledged": {3, 4, 8, 12}, "settled": {1, 3, 9},
	} {
		for _, time := range times {
			tr := newTrial(t, true, 3, "")
			tr.acts = true
			if tr.live(fmt.Sprint(step, ":", time), 0) || !tr.live("", 0) {
				t.Errorf("the host did not die at %s:%d, or by itself afterwards", step, time)
			}
			tr.p.mu.Lock()
			if diff := cmp.Diff(want, tr.p.shown); diff != "" {
				t.Errorf("killed at %s:%d (-want +shown)\n%s", step, time, diff)
			}
			tr.p.mu.Unlock()
		}
	}
}
