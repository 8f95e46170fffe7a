package spool

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/ipc"
)

// refused waits for the refusal of a request and returns its entry.
func (q *queue) refused(folder, id, code string) Quarantined {
	q.t.Helper()
	if r := q.result(folder, id, ipc.Refused); r.Code != code || r.Hint == "" {
		q.t.Errorf("%s: result %+v, want code %s", id, r, code)
	}
	for _, x := range q.entries() {
		if x.Request == id {
			if x.Code != code || x.Folder != folder || x.Attempts != 1 || x.First.IsZero() {
				q.t.Errorf("entry %+v", x)
			}
			return x
		}
	}
	q.t.Fatalf("no entry for %s", id)
	panic("unreachable")
}

func TestWhatIsNoPlainFileIsTakenAwayUnopened(t *testing.T) {
	dir := prepare(t, "fam")
	messages := filepath.Join(dir, "fam", ipc.MessagesDir)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("TOPSECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(path string) error{
		"fifo":     func(p string) error { return syscall.Mkfifo(p, 0o666) },
		"link":     func(p string) error { return os.Symlink(secret, p) },
		"inside":   func(p string) error { return os.Symlink("real.txt", p) },
		"dangling": func(p string) error { return os.Symlink("nothing", p) },
		"directory": func(p string) error { // whole at once, or the host is faster
			return errors.Join(os.MkdirAll(".whole/full", 0o777), os.Rename(".whole", p))
		},
		"socket": func(p string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "s.json", Net: "unix"})
			if err != nil {
				return err
			}
			l.SetUnlinkOnClose(false)
			return errors.Join(l.Close(), os.Rename("s.json", p))
		},
	}
	t.Chdir(t.TempDir()) // a socket's path must be short
	if os.Getuid() == 0 {
		kinds["device"] = func(p string) error { return syscall.Mknod(p, syscall.S_IFCHR|0o666, 1<<8|5) } // /dev/zero
	}
	if err := os.WriteFile(filepath.Join(messages, "real.txt"), []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	for name, create := range kinds {
		if err := create(filepath.Join(messages, name+".json")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		q.refused("fam", name, ipc.CodeNotFile)
	}
	q.none("fam")
	q.stop()
	if left := waitingIn(t, dir, "fam"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	noneHolds(t, filepath.Join(dir, ipc.ErrorsDir), "TOPSECRET")
	if strings.Contains(q.log.String(), "TOPSECRET") {
		t.Error("the log holds a link's target")
	}
}

func noneHolds(t *testing.T, dir, secret string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), secret) {
			t.Errorf("%s holds it", e.Name())
		}
	}
}

func TestBrokenRequestsGoToTheErrorsFolderAsTheyAre(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	for i := range len(hello) {
		id := fmt.Sprintf("torn-%d", i)
		drop(t, dir, "fam", id+".json", hello[:i])
		x := q.refused("fam", id, ipc.CodeMalformed)
		_, body, err := ReadError(dir, x.Name)
		if err != nil || string(body) != hello[:i] {
			t.Fatalf("kept %q, %v, want %q", body, err, hello[:i])
		}
	}
	drop(t, dir, "fam", "large.json", strings.Repeat(" ", ipc.MaxRequest+1))
	if x := q.refused("fam", "large", ipc.CodeTooLarge); x.Size != 0 {
		t.Errorf("kept %d bytes of a request that is too large", x.Size)
	}
	sparse := filepath.Join(dir, "fam", ipc.MessagesDir, ".sparse")
	if err := os.WriteFile(sparse, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(sparse, filepath.Join(dir, "fam", ipc.MessagesDir, "sparse.json")); err != nil {
		t.Fatal(err)
	}
	q.refused("fam", "sparse", ipc.CodeTooLarge)
	q.none("fam")
}

// A client that sees its request taken does not sync it. A power loss may then leave a file
// without its bytes, whose request was sent.
func TestWhatAPowerLossLeftOfARecordedRequestOverwroteItsResult(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}, Known: func(folder, id string) bool { return folder == "fam" && id == "sent" }})
	sent := ipc.Result{ID: "sent", Status: ipc.Sent, Time: time.Unix(1, 0).UTC()}
	if err := q.WriteResult("fam", sent); err != nil {
		t.Fatal(err)
	}
	drop(t, dir, "fam", "sent.json", "")
	drop(t, dir, "fam", "unsent.json", "")
	q.refused("fam", "unsent", ipc.CodeMalformed)
	q.none("fam")
	q.stop()
	if r, _ := ipc.NewClient(filepath.Join(dir, "fam")).Status("sent"); r.Status != ipc.Sent {
		t.Errorf("the result is now %+v", r)
	}
	if all := q.entries(); len(all) != 1 {
		t.Errorf("refused: %+v", all)
	}
	if left := waitingIn(t, dir, "fam"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestHardLinkedRequestIsRefused(t *testing.T) {
	dir := prepare(t, "fam")
	messages := filepath.Join(dir, "fam", ipc.MessagesDir)
	if err := os.WriteFile(filepath.Join(messages, ".kept"), []byte(hello), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(messages, ".kept"), filepath.Join(messages, "a.json")); err != nil {
		t.Fatal(err)
	}
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	q.refused("fam", "a", ipc.CodeHardLinked)
	q.none("fam")
}

// GHSA-364c-vvqx-446c: escape sequences in file names.
func TestHostileFileNamesReachNoLogAndNoPage(t *testing.T) {
	dir := prepare(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	names := []string{
		"\x1b]0;owned\x07.json", "a\nb.json", "\u202egnp.json", "\xff\xfe.json", "a b.json", "-.reason.json",
		strings.Repeat("n", 250) + ".json",
	}
	for _, n := range names {
		dropRaw(t, dir, "fam", n)
	}
	dropRaw(t, dir, "fam", ".hidden.json")
	dropRaw(t, dir, "fam", "a.txt")
	q.none("fam")
	q.stop()
	var bad int
	for _, x := range q.entries() {
		if !ipc.ValidID(x.Name) || strings.ContainsFunc(x.Request, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("entry %q for %q", x.Name, x.Request)
		}
		if x.Code == ipc.CodeBadName {
			bad++
		}
	}
	if bad != len(names)-1 { // -.reason is a strange id and a valid one
		t.Errorf("%d refused for their names, want %d", bad, len(names)-1)
	}
	if strings.ContainsAny(q.log.String(), "\x1b\x07\u202e") {
		t.Error("the log holds control characters")
	}
}

// dropRaw creates the name at once: an over-long one leaves no room for a
// prefix. Its content is refused or never read.
func dropRaw(t *testing.T, dir, folder, name string) {
	t.Helper()
	src := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(src, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(src, filepath.Join(dir, folder, ipc.MessagesDir, name)); err != nil {
		t.Fatal(err)
	}
}

// CVE-2026-31990, nanoclaw 2880: a link planted where the host writes.
func TestPlantedLinksDoNotLeadTheHostAstray(t *testing.T) {
	dir := prepare(t, "fam")
	host := filepath.Join(t.TempDir(), "host.conf")
	if err := os.WriteFile(host, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Dir: dir, Folders: []string{"fam"}})
	defer s.Close()
	in := func(parts ...string) string { return filepath.Join(append([]string{dir, "fam"}, parts...)...) }
	for _, p := range []string{in(ipc.ResultsDir, "a.json"), in(ipc.InputDir, "_close"), in(ipc.ContextDir, ipc.ContextFile)} {
		if err := os.Symlink(host, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(in(ipc.ResultsDir, "b.json", "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(
		s.WriteResult("fam", ipc.Result{ID: "a", Status: ipc.Sent}), s.WriteResult("fam", ipc.Result{ID: "b", Status: ipc.Sent}),
		s.WriteContext("fam", ipc.Context{}))
	if err != nil {
		t.Error(err)
	}
	for _, id := range []string{"a", "b"} {
		if r, err := ipc.NewClient(in()).Status(id); err != nil || r.Status != ipc.Sent {
			t.Errorf("%s: %+v, %v", id, r, err)
		}
	}
	// And the whole directory as a link, to outside and to a neighbour.
	for _, target := range []string{filepath.Dir(host), "../errors"} {
		for _, d := range []string{ipc.ResultsDir, ipc.InputDir, ipc.FilesDir} {
			if err := os.RemoveAll(in(d)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, in(d)); err != nil {
				t.Fatal(err)
			}
		}
		s.all()["fam"].dirs.verify()
		if err := s.WriteResult("fam", ipc.Result{ID: "c", Status: ipc.Sent}); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("a result through a link to %s: %v", target, err)
		}
	}
	if b, err := os.ReadFile(host); err != nil || string(b) != "mine" {
		t.Errorf("the host's file: %q, %v", b, err)
	}
}

func TestResultsGoOnlyWhereTheyBelong(t *testing.T) {
	dir := prepare(t, "fam")
	s := New(Options{Dir: dir, Folders: []string{"fam"}})
	defer s.Close()
	for _, id := range []string{"", "..", "../a", "a/b", ".a", "a\x00"} {
		if err := s.WriteResult("fam", ipc.Result{ID: id, Status: ipc.Sent}); err == nil {
			t.Errorf("id %q was taken", id)
		}
	}
	for _, folder := range []string{"other", "..", "", "errors"} {
		if err := s.WriteContext(folder, ipc.Context{}); err == nil {
			t.Errorf("folder %q was taken", folder)
		}
	}
}

// A host that is not root may not read what the container keeps to itself.
func TestUnreadableRequestIsRefusedWithAHint(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	if err := os.WriteFile(path, []byte(hello), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if os.Getuid() != 0 {
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its goroutine, and its user with it
		if os.Getuid() == 0 {
			_ = syscall.Setfsuid(65534)
		}
		_, _, err := readRequest(root, "a.json")
		got <- err
	}()
	var refusal *ipc.Refusal
	if err := <-got; !errors.As(err, &refusal) || refusal.Code != ipc.CodeUnreadable || !strings.Contains(refusal.Hint, "0644") {
		t.Errorf("got %v", err)
	}
}

// An open descriptor still writes after the rename: what was read once counts.
func TestRewritingAfterTheRenameChangesNothing(t *testing.T) {
	dir := prepare(t, "fam")
	path := filepath.Join(dir, "fam", ipc.MessagesDir, ".a")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(hello); err != nil {
		t.Fatal(err)
	}
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	if err := os.Rename(path, filepath.Join(dir, "fam", ipc.MessagesDir, "a.json")); err != nil {
		t.Fatal(err)
	}
	d := q.next()
	if _, err := f.WriteAt([]byte(strings.Repeat("x", len(hello))), 0); err != nil {
		t.Fatal(err)
	}
	if string(d.Body) != hello || d.Request.Text != "hello" {
		t.Errorf("changed: %s", d.Body)
	}
}

// JSON holds no year above 9999. On tmpfs, btrfs and ZFS a file can have one.
func TestARequestFromTheYear3170843StayedInTheQueueForEver(t *testing.T) {
	dir := prepareFast(t, "fam")
	q := serve(t, dir, Options{Folders: []string{"fam"}})
	for id, secs := range map[string]int64{"late": 99999999999999, "early": -99999999999999} {
		drop(t, dir, "fam", "."+id, "{}")
		path := filepath.Join(dir, "fam", ipc.MessagesDir, "."+id)
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{{Sec: secs}, {Sec: secs}}, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, filepath.Join(dir, "fam", ipc.MessagesDir, id+".json")); err != nil {
			t.Fatal(err)
		}
		if x := q.refused("fam", id, ipc.CodeMissing); x.Written.Year() < 1700 || x.Written.Year() > 2500 { // a disk's own bounds may be narrower
			t.Errorf("%s: written at %v", id, x.Written)
		}
	}
	q.none("fam")
}
