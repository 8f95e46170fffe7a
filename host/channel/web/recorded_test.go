package web_test

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/state"
)

// record notes what it is to record.
type record struct {
	fail error
	outs []channel.Outcome
	done bool
}

func (r *record) Record(_ *state.Tx, outs []channel.Outcome) error {
	r.outs = outs
	return r.fail
}

func (r *record) Recorded() { r.done = true }

// TestTheMessagesOfARecordThatFailsAreNotThere: messages and record were two commits.
func TestTheMessagesOfARecordThatFailsAreNotThere(t *testing.T) {
	s := start(t, options(t.TempDir()))
	ms := []channel.Message{memory.Text(newID(), "web:family", "one"), memory.Text(newID(), "web:family", "two")}
	r := record{fail: errors.New("refused")}
	if outs := s.SendRecorded(t.Context(), ms, &r); len(outs) != 1 || !errors.Is(outs[0].Err, r.fail) || r.done {
		t.Errorf("%+v, written: %v", outs, r.done)
	}
	if got := s.history(""); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	r.fail = nil
	if outs := s.SendRecorded(t.Context(), ms, &r); len(outs) != 2 || len(r.outs) != 2 || outs[1] != r.outs[1] || outs[1].Err != nil || !r.done {
		t.Errorf("%+v, record %+v", outs, r)
	}
	if got := s.history(""); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}
