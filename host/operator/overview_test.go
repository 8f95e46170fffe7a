package operator_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func TestAHostWithoutAPageHasNoAddressOfIt(t *testing.T) {
	if _, err := operator.NewLocal(operator.Options{Running: &operator.Running{}}).PageURL(t.Context()); refusal.Of(err) == nil || refusal.Of(err).Code != operator.CodePageOff {
		t.Errorf("got %v", err)
	}
	if _, err := operator.NewLocal(operator.Options{}).PageURL(t.Context()); !errors.Is(err, operator.ErrNoHost) {
		t.Errorf("without a host: %v", err)
	}
}

func TestOnlyAGroupOfTheHostIsStopped(t *testing.T) {
	c := newCounter(t)
	if s, err := c.StopAssistant(t.Context(), "family"); err != nil || s.Turns != 6 {
		t.Errorf("stopped %+v, %v", s, err)
	}
	if _, err := c.StopAssistant(t.Context(), "strangers"); refusal.Of(err) == nil || refusal.Of(err).Code != operator.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

// An operator who asked where a file was read times nowhere.
func TestTheTimelineTellsEachStepOfADelivery(t *testing.T) {
	c := newCounter(t)
	d := c.accept("family", "a.txt", "here")
	steps := func() (what []string) {
		item, err := c.Show(t.Context(), d.Key)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range item.Timeline {
			what = append(what, s.What+" "+s.Detail)
			if s.Time.IsZero() && (s.What == "requested" || s.What == "accepted" || s.What == "sent") {
				t.Errorf("%s has no time", s.What)
			}
		}
		return what
	}
	if diff := cmp.Diff([]string{"requested ", "accepted ", "queued "}, steps()); diff != "" {
		t.Error(diff)
	}
	o, err := operator.Look(t.Context(), c)
	if err != nil || len(o.Queue) != 1 || o.Queue[0].Done != 0 || o.Status.Groups[0].Pending != 1 {
		t.Errorf("looked: %+v, %v", o, err)
	}
	c.work(d.Key, "sent")
	got := steps()
	if len(got) < 4 || got[2] != "attempts 1" || got[3] != "sent " {
		t.Errorf("after it was sent: %q", got)
	}
	before := time.Now()
	for _, s := range []channel.State{channel.StateDelivered, channel.StateRead} {
		if err := c.outbox.Report(t.Context(), d.Address(), "p-"+messageID(t, c, d), s); err != nil {
			t.Fatal(err)
		}
	}
	item, err := c.Show(t.Context(), d.Key)
	if err != nil || len(item.Timeline) != 6 {
		t.Fatalf("after the receipts: %+v, %v", item.Timeline, err)
	}
	for i, what := range []string{"delivered", "read"} {
		if s := item.Timeline[4+i]; s.What != what || s.Time.Before(before) || time.Since(s.Time) < 0 {
			t.Errorf("step %d: %+v, want %s since %v", 4+i, s, what, before)
		}
	}
}

// messageID is how the platform of a counter begins its id of a delivery.
func messageID(t *testing.T, c *counter, d records.Delivery) string {
	t.Helper()
	kept, err := c.outbox.Get(t.Context(), d.Key)
	if err != nil {
		t.Fatal(err)
	}
	return kept.Parts[0].MessageID[:4]
}

// ask puts deliveries into the outbox that wait for an approval.
func (c *counter) ask(names ...string) {
	c.t.Helper()
	var all []records.Delivery
	for _, name := range names {
		all = append(all, records.Delivery{
			Key: fmt.Sprintf("%032x", time.Now().UnixNano()), Folder: "family", Request: "r-" + name, Channel: "mem", Chat: "mem:family",
			Approval: &records.Ask{Rule: "approve.above", Expires: time.Now().Add(time.Hour)},
			Parts:    []records.Part{{Text: name}},
		})
	}
	if err := c.outbox.Put(c.t.Context(), all); err != nil {
		c.t.Fatal(err)
	}
}

// The page asked for the newest 100 open deliveries and looked for approvals among them:
// those that expire first were missing, and many of them hid the live queue.
func TestApprovalsBeyondTheNewestHundredWereMissed(t *testing.T) {
	c := newCounter(t)
	c.ask("first")
	under := c.accept("work", "way.txt", "under way")
	var names []string
	for i := range 2 * operator.OverviewItems {
		names = append(names, fmt.Sprint("later-", i))
	}
	c.ask(names...)
	o, err := operator.Look(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Approvals) != operator.OverviewItems || o.Approvals[0].Text != "first" || o.Approvals[1].Text != "later-0" {
		t.Errorf("%d approvals, first %+v", len(o.Approvals), o.Approvals[:min(2, len(o.Approvals))])
	}
	if len(o.Queue) != 1 || o.Queue[0].ID != under.Key {
		t.Errorf("the queue is %+v", o.Queue)
	}
	if n := o.Status.Groups[0].Approvals; n != 2*operator.OverviewItems+1 {
		t.Errorf("%d approvals are counted", n)
	}
	dir := privateDir(t)
	serve(t, &operator.Server{Dir: dir, Control: c})
	for _, f := range []operator.Filter{{Waiting: true, Oldest: true, Limit: 3}, {Moving: true}} {
		here, err := c.List(t.Context(), f)
		there, far := operator.NewClient(dir).List(t.Context(), f)
		if diff := cmp.Diff(here, there); diff != "" || err != nil || far != nil {
			t.Errorf("%+v: through the socket: %s, %v, %v", f, diff, err, far)
		}
	}
}

// Who is asked for a yes was shown a size and a chat, and not what would go there.
func TestAnApprovalDidNotNameItsFiles(t *testing.T) {
	c := newCounter(t)
	file := records.File{}
	file.Name, file.Alt, file.Kind = "report.pdf", "a table of tides", "document"
	d := records.Delivery{
		Key: strings.Repeat("a", 32), Folder: "family", Request: "r", Channel: "mem", Chat: "mem:family",
		Approval: &records.Ask{Rule: "approve.above", Expires: time.Now().Add(time.Hour)},
	}
	for range 5 {
		blob, err := c.outbox.Copy(t.Context(), strings.NewReader("bytes"), 5)
		if err != nil {
			t.Fatal(err)
		}
		file.Size, file.SHA256, file.Blob, file.Bytes = 5, blob.SHA256, blob.Name, blob.Bytes
		d.Parts = append(d.Parts, records.Part{Text: strings.Repeat("the report ", 50), Files: []records.File{file}})
	}
	if err := c.outbox.Put(t.Context(), []records.Delivery{d}); err != nil {
		t.Fatal(err)
	}
	o, err := operator.Look(t.Context(), c)
	if err != nil || len(o.Approvals) != 1 {
		t.Fatalf("%+v, %v", o.Approvals, err)
	}
	i := o.Approvals[0]
	if diff := cmp.Diff([]string{"report.pdf", "report.pdf", "report.pdf"}, i.Names); diff != "" || i.Files != 5 {
		t.Errorf("%d files: %s", i.Files, diff)
	}
	if n := len([]rune(i.Text)); n != 1000 || !strings.HasPrefix(i.Text, "the report the report") || !strings.Contains(i.Text, "a table of tides") {
		t.Errorf("%d characters: %q", n, i.Text)
	}
}
