package serve

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// looks is a part that looks at something when the parts begin to run.
type looks struct {
	noApply
	noClose
	run func() error
}

func (l looks) Run(context.Context) error { return l.run() }

// TestTheOutboxDeletedWhatTheTrailLacked: what a crash had taken from the trail was looked for
// while the outbox deleted old records already. It waits for trailed.
func TestTheOutboxDeletedWhatTheTrailLacked(t *testing.T) {
	h := newHost(t, everything, true)
	opened := h.parts
	defer func() {
		if err := closeParts(opened); err != nil {
			t.Error(err)
		}
	}()
	g := h.Groups()[0]
	waits := records.Delivery{
		Key: "0123456789abcdef0123456789abcdef", Folder: g.Folder, Request: "lost", Channel: g.Channel, Chat: g.Chat, Created: time.Now(),
		Parts: []records.Part{{Text: "hello"}}, Approval: &records.Ask{Rule: "approve.files", Expires: time.Now().Add(time.Hour)},
	}
	if err := h.Outbox.Put(t.Context(), []records.Delivery{waits}); err != nil {
		t.Fatal(err)
	}
	if err := h.Bridge.Decide(t.Context(), waits.Key, false, "operator"); err != nil {
		t.Fatal(err)
	}
	dir, found := t.TempDir(), 0
	log, err := audit.Open(audit.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h.audit, h.Bridge.Audit = log, log // a trail that a crash has taken the answer from
	h.parts = []Part{looks{run: func() error {
		<-h.trailed
		return audit.Search(t.Context(), audit.Files(dir), func(audit.Entry) error { found++; return nil })
	}}}
	if err := h.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if found == 0 {
		t.Error("the outbox may delete before the trail has what it lacked")
	}
}
