package runtime_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/runtime"
)

// TestADescriptorThatTheHostInheritedEndsThere opens a file as whoever starts
// the host may have left one open: not closed at exec.
func TestADescriptorThatTheHostInheritedEndsThere(t *testing.T) {
	secret, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	inherited, err := unix.FcntlInt(secret.Fd(), unix.F_DUPFD, 200)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	look := []string{"/bin/sh", "-c", `cd /proc/self/fd && for f in *; do [ "$f" -lt 200 ] || readlink "$f"; done >&2`}
	if out, err := exec.Command(look[0], look[1:]...).CombinedOutput(); err != nil || !strings.Contains(string(out), os.Args[0]) {
		t.Fatalf("a child that is started without care sees %q, %v: the test shows nothing", out, err)
	}
	dir := t.TempDir()
	s := spec(dir)
	s.Command = look
	session := begin(t, runtime.Process{}, s)
	all(session)
	if err := session.Wait(); err != nil {
		t.Fatal(err)
	}
	if log := read(t, dir, "logs", "assistant.log"); strings.Contains(log, os.Args[0]) {
		t.Errorf("the assistant sees %q", log)
	}
}
