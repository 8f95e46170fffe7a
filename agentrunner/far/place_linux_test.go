package far

import (
	"io"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestALockedDirectoryBrokeATurnAndEachLaterOne: an assistant's temporary files held one in
// which their owner may not write, and an operator had to remove it. Root may remove
// everything, so the test runs as another user.
func TestALockedDirectoryBrokeATurnAndEachLaterOne(t *testing.T) {
	if os.Getuid() == 0 {
		fstest.AsAnotherUser(t)
		return
	}
	home := t.TempDir()
	for _, killed := range []bool{false, true, false} {
		script := `mkdir -p $TMPDIR/a/b; chmod 500 $TMPDIR/a; cat >/dev/null; echo here`
		if killed {
			script += `; sleep 3600`
		}
		s := start(t, home, script)
		s.frame(Frame{Kind: KindDocument}, "x")
		if got := s.line(s.out); got != "here" {
			t.Errorf("the assistant says %q", got)
		}
		if killed {
			_ = s.cmd.Process.Kill()
		}
		text, _ := io.ReadAll(s.stderr)
		if err := s.cmd.Wait(); (err != nil) != killed {
			t.Errorf("the session ended with %v: %s", err, text)
		}
	}
}
