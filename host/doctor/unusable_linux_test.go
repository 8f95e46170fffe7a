package doctor_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/ipc"
)

// asOwner calls do without root's right to open everything, on a thread that ends with it.
func asOwner(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		if err := unix.Capset(&head, &make([]unix.CapUserData, 2)[0]); err != nil {
			done <- err
			return
		}
		do()
	}()
	for err := range done {
		t.Error(err)
	}
}

// TestDoctorWasContentWithWhatKeepsServeFromStarting: every file and directory of a state is
// closed to its owner in turn.
func TestDoctorWasContentWithWhatKeepsServeFromStarting(t *testing.T) {
	p := newPatient(t)
	p.database(false)
	for _, name := range []string{"audit/key", "audit/2026-07.jsonl", "installation/id", "blobs/ab/x"} {
		path := filepath.Join(p.Layout.State, name)
		p.must(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(strings.Repeat("k", 32)), 0o600))
	}
	p.must(os.MkdirAll(filepath.Join(p.Layout.Own(), "blobs"), 0o700))
	for _, leaf := range []string{ipc.MessagesDir, ipc.FilesDir, ipc.InputDir} { // a host that is root gives them to the containers' user
		p.must(os.Chown(p.Layout.IPC("family", leaf), os.Geteuid(), -1))
	}
	p.must(os.Chown(p.Layout.Workspace("family"), os.Geteuid(), -1))
	worst := func() (worst finding.Severity, said string) {
		asOwner(t, func() {
			findings := p.ask(t.Context())
			for _, f := range findings {
				if f.Part == "disk" || f.Part == "clock" || f.Severity == finding.Fine {
					continue
				}
				said += f.Cause + "; "
				if f.Severity == finding.Note && f.Remedy == "longshore serve gives them back" {
					f.Severity = finding.Fault // an assistant can do so, and a start mends it
				}
				if strings.Contains(f.Remedy, "remove it") || strings.Contains(f.Remedy, "delete the") {
					t.Errorf("a dangerous remedy: %+v", f)
				}
				worst = worstOf([]finding.Finding{{Severity: worst}, f})
			}
		})
		return worst, said
	}
	if is, said := worst(); is == finding.Fault {
		t.Fatalf("a state that is well: %s", said)
	}
	var paths []string
	p.must(filepath.WalkDir(p.Layout.State, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(p.Layout.State, path)
		if depth := strings.Count(rel, "/"); depth < 2 || depth == 2 && e.IsDir() && strings.HasPrefix(rel, "ipc/family/") {
			paths = append(paths, path)
		}
		return err
	}))
	if len(paths) < 20 {
		t.Fatalf("the state has only %q", paths)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		p.must(err, os.Chmod(path, 0))
		if is, said := worst(); is != finding.Fault || info.IsDir() && !strings.Contains(said, filepath.Base(path)) {
			t.Errorf("%s with mode 0: %s %s", path, is, said)
		}
		if info.IsDir() || filepath.Ext(path) == ".db" { // the host writes into it; stores of mode 0444 passed
			p.must(os.Chmod(path, info.Mode().Perm()&^0o222))
			if is, said := worst(); is != finding.Fault || !strings.Contains(said, filepath.Base(path)) {
				t.Errorf("%s that cannot be written: %s %s", path, is, said)
			}
		}
		p.must(os.Chmod(path, info.Mode().Perm()))
	}
}

// TestDoctorFollowedTheLinkThatServeRefuses in the place of the outbox's files.
func TestDoctorFollowedTheLinkThatServeRefuses(t *testing.T) {
	p := newPatient(t)
	p.database(false)
	p.must(os.Symlink(t.TempDir(), filepath.Join(p.Layout.Own(), "blobs")))
	if is := worstOf(p.ask(t.Context())); is != finding.Fault {
		t.Errorf("%s", is)
	}
}

// TestDoctorAdvisedToRemoveALiveGroup that the file has lost.
func TestDoctorAdvisedToRemoveALiveGroup(t *testing.T) {
	p := newPatient(t)
	p.must(os.MkdirAll(p.Layout.IPC("work", ipc.MessagesDir), 0o700))
	p.Served = []string{"family", "work"}
	var said string
	for _, f := range p.ask(t.Context()) {
		said += f.Cause + "; " + f.Remedy + "\n"
	}
	if strings.Contains(said, "remove the directory") || !strings.Contains(said, "gone from longshore.yaml: work") {
		t.Errorf("it says\n%s", said)
	}
}

// One state directory that nobody could write was told as sixteen faults: one for each directory of a group too.
func TestAClosedStateIsOneFault(t *testing.T) {
	p := newPatient(t)
	p.must(os.Chmod(p.Layout.State, 0o500))
	t.Cleanup(func() { p.must(os.Chmod(p.Layout.State, 0o700)) })
	asOwner(t, func() {
		var faults []finding.Finding
		for _, f := range p.Findings(t.Context()) {
			if f.Severity == finding.Fault {
				faults = append(faults, f)
			}
		}
		if len(faults) != 1 || faults[0].Part != "state" {
			t.Errorf("%+v", faults)
		}
	})
}
