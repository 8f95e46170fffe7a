package history

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// A commit that nobody knows the end of was taken for one that had failed: the page deleted a
// file that a row on the disk named.
func TestAFileOfADoubtfulCommitWasDeleted(t *testing.T) {
	b := &Files{Store: statetest.Open(t, t.TempDir()).Blobs}
	for _, tt := range []struct {
		err   error
		stays bool
	}{
		{fmt.Errorf("commit: %w", stores.ErrDoubtful), true},
		{errors.New("refused"), false},
	} {
		s, err := b.Stage(t.Context(), strings.NewReader(strings.Repeat("x", blob.Small+1)), 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		LeaveDoubtful(tt.err, []*Staged{s, nil})
		s.Drop()
		f, err := b.Open(t.Context(), s.Name, s.SHA256, s.Size)
		if err == nil {
			_ = f.Close()
		}
		if (err == nil) != tt.stays {
			t.Errorf("%v: the file stays is %v", tt.err, err == nil)
		}
	}
}
