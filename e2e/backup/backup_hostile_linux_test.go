//go:build linux

package backup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// JSON holds no name that is not UTF-8, such as one out of an old zip: each backup that had one was damaged.
func TestANameThatIsNotUTF8DamagedEachBackup(t *testing.T) {
	s := newBackedUp(t, 1)
	workspace := s.Cfg.Layout().Workspace("g0")
	for _, name := range []string{"caf\xe9", "caf\xe8", "caf\ufffd"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("caf\xe9", filepath.Join(workspace, "link\xff")), os.Mkdir(filepath.Join(workspace, "dir\xff"), 0o755)); err != nil {
		t.Fatal(err)
	}
	dir := backUp(s, t.TempDir())
	if out, code := stage.Command(t, "backup", "verify", dir); code != stage.ExitOK {
		t.Errorf("verify: exit code %d: %s", code, out)
	}
	after := restored(t, dir, 1).Cfg.Layout().Workspace("g0")
	for _, name := range []string{"caf\xe9", "caf\xe8", "caf\ufffd"} {
		if b, err := os.ReadFile(filepath.Join(after, name)); string(b) != name {
			t.Errorf("%q holds %q, %v", name, b, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(after, "link\xff")); to != "caf\xe9" {
		t.Errorf("the link: %q, %v", to, err)
	}
	if info, err := os.Stat(filepath.Join(after, "dir\xff")); err != nil || !info.IsDir() {
		t.Errorf("the directory: %v", err)
	}
}

// A system call takes a path of 4096 bytes, and an assistant makes longer ones, name by name.
func TestAPathThatIsTooLongKeptEachBackupFromBeingMade(t *testing.T) {
	s := newBackedUp(t, 1)
	dir, err := os.OpenRoot(s.Cfg.Layout().Workspace("g0"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.WriteFile("kept", []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		name := strings.Repeat("\x01", 250) // each is six bytes in JSON
		if err := dir.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		sub, err := dir.OpenRoot(name)
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		dir = sub
	}
	backup := backUp(s, t.TempDir())
	if out, code := stage.Command(t, "backup", "verify", backup); code != stage.ExitOK {
		t.Errorf("verify: exit code %d: %s", code, out)
	}
	after := restored(t, backup, 1)
	if _, err := os.Stat(filepath.Join(after.Cfg.Layout().Workspace("g0"), "kept")); err != nil {
		t.Error(err)
	}
}

// A relative path became a URI whose first part is a machine.
func TestVerifyOfARelativePathSaidThatTheDatabasesAreDamaged(t *testing.T) {
	s := newBackedUp(t, 1)
	dir := backUp(s, t.TempDir())
	t.Chdir(filepath.Dir(dir))
	if out, code := stage.Command(t, "backup", "verify", filepath.Base(dir)); code != stage.ExitOK {
		t.Errorf("verify: exit code %d: %s", code, out)
	}
}

// TestAManifestDoesNotLeadOutOfTheStateDirectory restores backups that somebody else has made.
func TestAManifestDoesNotLeadOutOfTheStateDirectory(t *testing.T) {
	s := newBackedUp(t, 1)
	sum := fmt.Sprintf("%x", sha256.Sum256(nil))
	file := func(path string) string { return fmt.Sprintf(`{"path":%q,"mode":420,"sha256":%q}`, path, sum) }
	link := func(path, target string) string {
		return fmt.Sprintf(`{"path":%q,"target":%q,"mode":511}`, path, target)
	}
	for name, entries := range map[string]func(outside string) []string{
		"a file beside it":             func(string) []string { return []string{file("state/../planted")} },
		"another directory's mode":     func(string) []string { return []string{`{"path":"state/..","dir":true,"mode":511}`} },
		"behind a link":                func(o string) []string { return []string{link("state/zz", o), file("state/zz/planted")} },
		"behind a link, spelled oddly": func(o string) []string { return []string{link("state/zz/.", o), file("state/zz/planted")} },
		"behind a link that comes twice": func(o string) []string {
			return []string{link("state/zz", o), `{"path":"state/zz","dir":true,"mode":511}`, file("state/zz/planted")}
		},
		"a link that is a directory too": func(o string) []string {
			return []string{fmt.Sprintf(`{"path":"state/zz","dir":true,"target":%q,"mode":511}`, o)}
		},
	} {
		dir, to, outside := backUp(s, t.TempDir()), filepath.Join(t.TempDir(), "to"), t.TempDir()
		if err := os.Chmod(outside, 0o750); err != nil {
			t.Fatal(err)
		}
		for _, planted := range []string{"planted", "state/zz/planted"} { // for whoever follows the manifest
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, planted)), 0o755); err != nil {
				t.Fatal(err)
			}
			stage.Write(t, filepath.Join(dir, planted), "")
		}
		manifest := filepath.Join(dir, "manifest.jsonl")
		old, err := os.ReadFile(manifest)
		if err != nil {
			t.Fatal(err)
		}
		more := entries(outside)
		lines := strings.Split(strings.TrimSpace(string(old)), "\n")
		n := fmt.Sprintf(`"entries":%d}`, len(lines)-1)
		lines[0] = strings.Replace(lines[0], n, fmt.Sprintf(`"entries":%d}`, len(lines)-1+len(more)), 1)
		stage.Write(t, manifest, strings.Join(append(lines, more...), "\n")+"\n")
		out, code := stage.Command(t, "-c", filepath.Join(to, "longshore.yaml"), "restore", dir)
		if code == stage.ExitOK || !strings.Contains(out, "manifest") {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
		info, err := os.Stat(outside)
		if err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("%s: the directory outside: %v, %v", name, info.Mode(), err)
		}
		if left := append(leftOf(t, outside, "*"), leftOf(t, to, "*")...); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// A pipe in a backup, and a configuration with other bytes than the manifest says.
func TestARestoreWaitedForAPipeAndTookADamagedConfiguration(t *testing.T) {
	s := newBackedUp(t, 1)
	stage.Write(t, filepath.Join(s.Cfg.Layout().Workspace("g0"), "notes"), "")
	pipe, damaged := backUp(s, t.TempDir()), backUp(s, t.TempDir())
	notes := filepath.Join(pipe, "state/groups/g0/notes")
	f, err := os.OpenFile(filepath.Join(damaged, "longshore.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("# flipped\n")
	if err := errors.Join(err, f.Close(), os.Remove(notes), syscall.Mkfifo(notes, 0o644)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{pipe: "no plain file", damaged: "longshore.yaml: it has other bytes"} {
		to := t.TempDir()
		out, code := stage.Command(t, "-c", filepath.Join(to, "longshore.yaml"), "restore", dir)
		if code == stage.ExitOK || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q: %s", code, want, out)
		}
		if left := leftOf(t, to, "*"); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
}
