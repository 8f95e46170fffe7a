package toolcheck_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/internal/toolcheck"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func TestMarksReachTheDriverAndLeaveNothing(t *testing.T) {
	temp := t.TempDir()
	c, err := toolcheck.New(temp)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(c.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	s := toolcheck.Server(c.Dir)
	if c.Listed() || c.Refused() != "" {
		t.Error("there are marks before the server has left any")
	}
	s.Listed()
	s.Refused(errors.New("first"))
	s.Refused(&refusal.Error{Code: "no_token", Message: "no", Hint: "make one"})
	if !c.Listed() || c.Refused() != "no; make one" {
		t.Errorf("listed %v, refused %q", c.Listed(), c.Refused())
	}
	c.End()
	s.Listed()
	s.Refused(errors.New("late"))
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 || c.Listed() || c.Refused() != "" {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := toolcheck.New(filepath.Join(temp, "missing")); err == nil {
		t.Error("a mark was made in a directory that does not exist")
	}
}

// A pipe or a file without end in the place of the reason would hold the driver.
func TestReasonThatTheAssistantPlantedIsBounded(t *testing.T) {
	c, err := toolcheck.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(c.Dir, "refused")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.Refused(); got != "" {
		t.Errorf("a pipe says %q", got)
	}
	if err := errors.Join(os.Remove(name), os.Symlink("/dev/zero", name)); err != nil {
		t.Fatal(err)
	}
	if got := c.Refused(); got != "" {
		t.Errorf("a link says %d bytes", len(got))
	}
	if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte(strings.Repeat("x", 1<<20)), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := c.Refused(); len(got) != 4<<10 {
		t.Errorf("a long one says %d bytes", len(got))
	}
}

// A server that the CLI left behind wrote while the directory was removed, which then stayed.
func TestServerThatStillWritesKeepsNoDirectory(t *testing.T) {
	temp := t.TempDir()
	for range 200 {
		c, err := toolcheck.New(temp)
		if err != nil {
			t.Fatal(err)
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		first := make(chan struct{})
		go func() {
			defer close(stopped)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					toolcheck.Server(c.Dir).Refused(errors.New("no"))
				}
				if n == 0 {
					close(first)
				}
			}
		}()
		<-first
		c.End()
		close(stop)
		<-stopped
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%d directories are left, %v", len(left), err)
	}
}

func TestServerThatNobodyChecksLeavesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	toolcheck.Server("").Listed()
	toolcheck.Server("").Refused(errors.New("x"))
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
