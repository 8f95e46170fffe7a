package doctor_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/need"
)

// TestARunningHostWithoutASocketWasToBeKilled: something else was in the socket's place. The doctor said
// that no host runs, that its process hangs, and that its addresses are another program's.
func TestARunningHostWithoutASocketWasToBeKilled(t *testing.T) {
	p := newPatient(t)
	p.must(os.WriteFile(filepath.Join(p.Layout.Own(), operator.SocketName), nil, 0o600))
	if f := doctor.Unasked(p.Layout, operator.ErrNoHost); f.Name != finding.Host {
		t.Errorf("without a host: %+v", f)
	}
	lock, err := store.Lock(p.Stores[0])
	p.must(err)
	defer lock.Close()
	if f := doctor.Unasked(p.Layout, operator.ErrNoHost); f.Name != finding.State {
		t.Errorf("a host holds the lock: %+v", f)
	}
}

// TestNoViewNamedTheProcessThatDoesNotAnswer, such as one that was stopped.
func TestNoViewNamedTheProcessThatDoesNotAnswer(t *testing.T) {
	p := newPatient(t)
	lock, err := store.Lock(p.Stores[0])
	p.must(err)
	defer lock.Close()
	pid := strconv.Itoa(os.Getpid())
	f := doctor.Unasked(p.Layout, operator.ErrSilent)
	if f.Name != finding.Silent || !strings.Contains(f.Cause, "process "+pid) || !strings.Contains(f.Remedy, "kill -9 "+pid+" and") {
		t.Errorf("%+v", f)
	}
}

// TestARunningHostWasNotFoundWithoutItsFile: longshore.yaml could not be read any more, and only it named the state.
func TestARunningHostWasNotFoundWithoutItsFile(t *testing.T) {
	dir := t.TempDir()
	config, proc := filepath.Join(dir, "longshore.yaml"), filepath.Join(dir, "proc")
	for _, err := range []error{
		os.WriteFile(config, []byte("{"), 0o600), os.WriteFile(filepath.Join(dir, "other.yaml"), nil, 0o600),
		os.MkdirAll(filepath.Join(proc, "11/fd"), 0o700), os.MkdirAll(filepath.Join(proc, "12/fd"), 0o700),
		os.WriteFile(filepath.Join(proc, "11/cmdline"), []byte("longshore\x00-c\x00other.yaml\x00serve\x00"), 0o600), os.Symlink(dir, filepath.Join(proc, "11/cwd")),
		os.WriteFile(filepath.Join(proc, "12/cmdline"), []byte("longshore\x00--config="+config+"\x00serve\x00"), 0o600), os.Symlink("/", filepath.Join(proc, "12/cwd")),
		os.Symlink("/srv/other/longshore.lock", filepath.Join(proc, "11/fd/5")), os.Symlink("/dev/null", filepath.Join(proc, "12/fd/0")), os.Symlink("/srv/state/longshore.lock", filepath.Join(proc, "12/fd/7")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{config: "/srv/state", filepath.Join(dir, "none.yaml"): ""} {
		if got := doctor.OwnOf(proc, file); got != want {
			t.Errorf("%s: %q, want %q", filepath.Base(file), got, want)
		}
	}
}

// A process of another user that had a file longshore.lock open and named the configuration was taken for the host:
// commands went to a socket of that user.
func TestAStrangersProcessWasTakenForTheHost(t *testing.T) {
	if os.Getuid() != 0 {
		need.Lacking(t, "own a file as another user: this is not root")
	}
	dir := t.TempDir()
	config, process := filepath.Join(dir, "longshore.yaml"), filepath.Join(dir, "proc/12")
	for _, err := range []error{
		os.WriteFile(config, []byte("{"), 0o600), os.MkdirAll(filepath.Join(process, "fd"), 0o700), os.Symlink("/", filepath.Join(process, "cwd")),
		os.WriteFile(filepath.Join(process, "cmdline"), []byte("longshore\x00-c\x00"+config+"\x00serve\x00"), 0o600), os.Symlink("/srv/state/longshore.lock", filepath.Join(process, "fd/7")),
		os.Chown(process, 4711, 4711),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	proc := filepath.Dir(process)
	if got := doctor.OwnOf(proc, config); got != "" {
		t.Errorf("a stranger's: %q", got)
	}
	if err := os.Chown(config, 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if got := doctor.OwnOf(proc, config); got != "/srv/state" {
		t.Errorf("the owner's of the file: %q", got)
	}
}
