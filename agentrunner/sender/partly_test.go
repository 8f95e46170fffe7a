package sender

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// Of several requests to a host without receipts the first are queued before the disk
// is full: the agent must not send those again.
func TestWhatWasQueuedBeforeAnErrorIsSaid(t *testing.T) {
	var p *Problem
	err := partly(problem("no_space", "the disk is full", "free some"), 1, 3)
	if !errors.As(err, &p) || p.Code != "partly_queued" || !strings.Contains(p.Message, "1 of 3 files were queued, then: the disk is full") || p.Hint == "" {
		t.Errorf("%+v", err)
	}
	if err := partly(syscall.ENOSPC, 0, 3); err != syscall.ENOSPC {
		t.Errorf("%v", err)
	}
}
