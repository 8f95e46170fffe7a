package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// TestARestoredPollIsAskedTwice: the old host had asked it after the backup was made, and
// only texts and files were in doubt. A link was sent again, too. A change to a message,
// which may be made twice, is in no doubt.
func TestARestoredPollIsAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "fake"}
		ch := &finding{f, func(m channel.Message) (*channel.Receipt, error) {
			if m.Text == "not sent" {
				return nil, nil
			}
			return &channel.Receipt{ID: m.ID}, nil
		}}
		dir, options := t.TempDir(), outbox.Options{Channels: []channel.Channel{ch}}
		o := openAt(t, dir, options)
		poll, link := text("fake:a", "which one?"), linked(t, o, "a", "big.bin", "bytes", time.Now().Add(time.Hour))
		poll.Parts[0].Question = &records.Question{Choices: []string{"this", "that"}, Until: time.Now().Add(time.Hour)}
		change, words, late := text("fake:a", ""), text("fake:a", "sent"), text("fake:a", "not sent")
		change.Parts[0].Act = &records.Act{Verb: records.VerbReact, Target: "m", Emoji: "x"}
		all := []records.Delivery{poll, link, change, words, late}
		put(t, o, all...)
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		restored(t, dir, 4)
		b := newBook()
		o = b.openAt(t, dir, options)
		run(t, o)
		b.settled(t, all...)
		if diff := cmp.Diff([]string{"not sent"}, f.texts()); diff != "" {
			t.Errorf("sent again (-want +got):\n%s", diff)
		}
		for _, d := range []records.Delivery{poll, link, words, late} {
			if p := b.of(d).Parts[0]; p.State != records.Sent {
				t.Errorf("%s: %+v", d.Request, p)
			}
		}
	})
}
