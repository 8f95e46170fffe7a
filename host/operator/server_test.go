package operator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/fstest"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// dialEnv makes the test binary a process of another user that tries to
// connect: see TestOtherUsersAreRefused.
const dialEnv = "LONGSHORE_TEST_DIAL"

func TestMain(m *testing.M) {
	if path := os.Getenv(dialEnv); path != "" {
		conn, err := net.Dial("unix", path)
		if err != nil {
			os.Stdout.WriteString("refused: " + err.Error())
			os.Exit(0)
		}
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		conn.Write([]byte("POST /v1/status HTTP/1.0\r\nHost: longshore\r\nContent-Length: 0\r\n\r\n"))
		answer, _ := io.ReadAll(conn)
		os.Stdout.WriteString("answered: " + string(answer))
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// control is a Control that remembers what it was asked.
type control struct {
	items []operator.Item
	asked []string
	err   error
}

func (c *control) Status(context.Context) (operator.Status, error) {
	c.asked = append(c.asked, "status")
	return operator.Status{Running: true, PID: 7, State: "/state"}, c.err
}

func (c *control) List(_ context.Context, f operator.Filter) ([]operator.Item, error) {
	c.asked = append(c.asked, "list "+f.Group)
	return c.items, c.err
}

func (c *control) Show(_ context.Context, id string) (operator.Item, error) {
	c.asked = append(c.asked, "show "+id)
	return operator.Item{ID: id}, c.err
}

func (c *control) Retry(_ context.Context, id string) error {
	c.asked = append(c.asked, "retry "+id)
	return c.err
}

func (c *control) Drop(_ context.Context, id string) error {
	c.asked = append(c.asked, "drop "+id)
	return c.err
}

func (c *control) Send(_ context.Context, s operator.Send) (operator.Item, error) {
	c.asked = append(c.asked, "send "+s.Path+" to "+s.Group)
	return operator.Item{ID: "sent"}, c.err
}

func (c *control) Chats(_ context.Context, name string) ([]channel.Chat, error) {
	c.asked = append(c.asked, "chats "+name)
	return []channel.Chat{{JID: "1@g.us", Name: "Crew", Members: 3}}, c.err
}

func (c *control) Reload(context.Context, bool) (operator.Reloaded, error) {
	return operator.Reloaded{}, operator.ErrNoHost
}

func (c *control) PairingCodes(context.Context) ([]operator.PairingCode, error) {
	c.asked = append(c.asked, "requests")
	return []operator.PairingCode{{Code: "ABCD-EFGH", Chat: "mem:x"}}, c.err
}

func (c *control) ApprovePairing(_ context.Context, code string) error {
	c.asked = append(c.asked, "approve "+code)
	return c.err
}

func (c *control) Links(_ context.Context, group string) ([]operator.Link, error) {
	return []operator.Link{{ID: "l1", Group: group}}, c.err
}

func (c *control) NotifyTest(context.Context) ([]operator.Notified, error) {
	return []operator.Notified{{Target: "webhook", Error: "status 500"}}, c.err
}
func (c *control) Decide(_ context.Context, id string, yes bool) error {
	c.asked = append(c.asked, fmt.Sprint(id, " ", yes))
	return c.err
}

func (c *control) Tokens(context.Context) ([]tokens.Token, error) {
	return []tokens.Token{{ID: "t1", Folder: "desk"}}, c.err
}

func (c *control) MakeToken(_ context.Context, o operator.TokenOrder) (tokens.NewToken, error) {
	return tokens.NewToken{Token: tokens.Token{ID: "t2", Folder: o.Group, Thread: o.Thread, Peer: o.From}, Secret: "s"}, c.err
}

func (c *control) RevokeToken(_ context.Context, id string) error {
	c.asked = append(c.asked, "revoke token "+id)
	return c.err
}

func (c *control) RevokeLink(_ context.Context, id string) error { return c.err }

func (c *control) Tasks(_ context.Context, group string) ([]tasks.Task, error) {
	return []tasks.Task{{ID: "task-1", Folder: group}}, nil
}

func (c *control) OperateTask(_ context.Context, id, verb string) (tasks.Answer, error) {
	return tasks.Answer{Words: verb + " " + id}, nil
}

func (c *control) Findings(_ context.Context, deep bool) ([]finding.Finding, error) {
	return []finding.Finding{{Name: fmt.Sprint(deep), Severity: finding.Fine}}, nil
}

func (c *control) StopAssistant(_ context.Context, folder string) (operator.Stopped, error) {
	c.asked = append(c.asked, "stop "+folder)
	return operator.Stopped{Turns: 1, Waited: 2}, c.err
}

func (c *control) Link(_ context.Context, name string) (operator.Linking, error) {
	return operator.Linking{Account: "of " + name}, c.err
}

func (c *control) PageURL(context.Context) (operator.PageURL, error) {
	return operator.PageURL{URL: "http://127.0.0.1:1/#x"}, c.err
}

func (c *control) Log(_ context.Context, q operator.LogQuery) (operator.LogPage, error) {
	return operator.LogPage{Lines: []operator.LogLine{{Seq: q.After + 1, Group: q.Group, Message: strconv.Itoa(q.Limit)}}, Next: q.After + 1}, nil
}

func (c *control) Audit(_ context.Context, q operator.AuditQuery) (operator.AuditPage, error) {
	return operator.AuditPage{Entries: []audit.Entry{{Number: int64(q.Limit), Time: q.From, Asked: q.To, Message: q.Text, Event: q.Event}}}, c.err
}

func (c *control) Unpair(_ context.Context, name string) error {
	c.asked = append(c.asked, "unpair "+name)
	return c.err
}

// serve runs a server in dir until the test ends.
func serve(t *testing.T, s *operator.Server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	await(t, func() bool {
		_, err := operator.NewClient(s.Dir).Status(ctx)
		return err == nil || len(done) > 0
	})
}

// await asks until the answer is yes, giving way in between.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited in vain")
		}
	}
}

// privateDir is a directory in a path that every user may pass.
func privateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheClientAsksWhatTheServerAnswers(t *testing.T) {
	c := &control{items: []operator.Item{{ID: "one", Kind: operator.Delivery, Message: "a\x1b[31m\u202eb"}}}
	dir := privateDir(t)
	serve(t, &operator.Server{Dir: dir, Control: c})
	c.asked = nil
	client := operator.NewClient(dir)
	ctx := t.Context()
	chats, err := client.Chats(ctx, "whatsapp")
	if err != nil || len(chats) != 1 || chats[0].Name != "Crew" || c.asked[0] != "chats whatsapp" {
		t.Errorf("chats %+v, %v, asked %v", chats, err, c.asked)
	}
	c.asked = nil
	if err := client.Unpair(ctx, "whatsapp"); err != nil || c.asked[0] != "unpair whatsapp" {
		t.Errorf("unpair: %v, asked %v", err, c.asked)
	}
	if l, err := client.Link(ctx, "whatsapp"); err != nil || l.Account != "of whatsapp" {
		t.Errorf("link: %+v, %v", l, err)
	}
	c.asked = nil
	if stopped, err := client.StopAssistant(ctx, "a b"); err != nil || stopped != (operator.Stopped{Turns: 1, Waited: 2}) || c.asked[0] != "stop a b" {
		t.Errorf("stop: %+v, %v, asked %v", stopped, err, c.asked)
	}
	c.asked = nil
	items, err := client.List(ctx, operator.Filter{Group: "family", Failed: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.items, items); diff != "" {
		t.Error(diff)
	}
	// A name in the errors folder may hold anything but a slash.
	for _, err := range []error{client.Retry(ctx, "family-a b?.json"), client.Drop(ctx, "0123")} {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := client.Show(ctx, "..%2f"); err != nil {
		t.Error(err)
	}
	if _, err := client.Send(ctx, operator.Send{Group: "family", Path: "/tmp/x"}); err != nil {
		t.Error(err)
	}
	want := []string{"list family", "retry family-a b?.json", "drop 0123", "show ..%2f", "send /tmp/x to family"}
	if diff := cmp.Diff(want, c.asked); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsKeepTheirCodeAndHint(t *testing.T) {
	c := &control{}
	dir := privateDir(t)
	serve(t, &operator.Server{Dir: dir, Control: c})
	c.err = &refusal.Error{Code: operator.CodeNotFound, Message: "no such item", Hint: "look again"}
	err := operator.NewClient(dir).Retry(t.Context(), "x")
	var got *refusal.Error
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(c.err, error(got)); diff != "" {
		t.Error(diff)
	}
	c.err = errors.New("disk on fire")
	if err := operator.NewClient(dir).Drop(t.Context(), "x"); err == nil || err.Error() != "disk on fire" {
		t.Errorf("got %v", err)
	}
}

func TestNoHostIsSaidSo(t *testing.T) {
	for name, dir := range map[string]string{"empty": t.TempDir(), "missing": "/nowhere/at/all", "long": "/" + strings.Repeat("x", 200), "file": "/dev/null"} {
		if _, err := operator.NewClient(dir).Status(t.Context()); !errors.Is(err, operator.ErrNoHost) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTheSocketIsClosedToOthersAndGoesWithTheHost(t *testing.T) {
	dir := privateDir(t)
	path := filepath.Join(dir, "longshore.sock")
	t.Run("while it runs", func(t *testing.T) {
		serve(t, &operator.Server{Dir: dir, Control: &control{}})
		at := path
		if short, err := os.Readlink(path); err == nil { // the path is too long for a socket
			at = short
		}
		fi, err := os.Lstat(at)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Type() != os.ModeSocket || fi.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", fi.Mode())
		}
		second := &operator.Server{Dir: dir, Control: &control{}}
		if err := second.Run(t.Context()); !errors.Is(err, operator.ErrRunning) {
			t.Errorf("a second host got %v", err)
		}
	})
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	dir := fstest.ShortTemp(t)
	path := filepath.Join(dir, "longshore.sock")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false) // as a host does that is killed
	ln.Close()
	serve(t, &operator.Server{Dir: dir, Control: &control{}})
}

func TestALongRuntimeDirectoryLeftTheHostWithoutASocket(t *testing.T) {
	dir, runtime := filepath.Join(t.TempDir(), strings.Repeat("long", 30)), filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	for _, d := range []string{dir, runtime} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	serve(t, &operator.Server{Dir: dir, Control: &control{}, Runtime: runtime})
}

// TestADeletedSocketWasNeverMadeAgain: the commands said that no host runs.
func TestADeletedSocketWasNeverMadeAgain(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), strings.Repeat("long", 30))} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		s := &operator.Server{Dir: dir, Control: &control{}, Runtime: fstest.ShortTemp(t), Look: time.Millisecond}
		serve(t, s)
		c := operator.NewClient(dir)
		for range 2 {
			if err := os.Remove(filepath.Join(dir, "longshore.sock")); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(3 * time.Second); ; {
				_, err := c.Status(t.Context())
				if err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
			}
		}
		if left, _ := os.ReadDir(s.Runtime); len(left) > 1 {
			t.Errorf("%d directories of sockets are left", len(left))
		}
	}
}

// TestTheHostDeletedTheFileThatLayInThePlaceOfItsSocket, while it ran.
func TestTheHostDeletedTheFileThatLayInThePlaceOfItsSocket(t *testing.T) {
	dir := privateDir(t)
	path := filepath.Join(dir, "longshore.sock")
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- (&operator.Server{Dir: dir, Control: &control{}, Look: time.Millisecond}).Run(ctx) }()
	await(t, func() bool {
		_, err := operator.NewClient(dir).Status(ctx)
		return err == nil
	})
	if err := errors.Join(os.WriteFile(path+".x", []byte("kept"), 0o600), os.Rename(path+".x", path)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("Run: %v", err)
	}
	if b, err := os.ReadFile(path); string(b) != "kept" {
		t.Errorf("%q, %v", b, err)
	}
}

// A socket that was deleted with its directory was a line of the log every five seconds, and no finding.
func TestASocketThatCannotBeMadeAgainIsAnError(t *testing.T) {
	dir := privateDir(t)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	s := &operator.Server{Dir: dir, Control: &control{}, Look: time.Millisecond}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	await(t, func() bool {
		_, err := operator.NewClient(dir).Status(ctx)
		return err == nil
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Run: %v", err)
	}
}

func TestWhatIsNoSocketIsLeftAlone(t *testing.T) {
	dir := privateDir(t)
	path := filepath.Join(dir, "longshore.sock")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&operator.Server{Dir: dir, Control: &control{}}).Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("now %q, %v", data, err)
	}
}

func TestALongPathGetsAShortSocket(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime, err := os.MkdirTemp("/tmp", "run") // TMPDIR could itself be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	for _, name := range []string{"first", "after a crash"} {
		t.Run(name, func(t *testing.T) {
			serve(t, &operator.Server{Dir: dir, Control: &control{}, Runtime: runtime})
			target, err := os.Readlink(filepath.Join(dir, "longshore.sock"))
			if err != nil {
				t.Fatal(err)
			}
			fi, err := os.Lstat(filepath.Dir(target))
			if err != nil || fi.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", fi, err)
			}
		})
		if left, _ := os.ReadDir(runtime); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if err := os.Symlink("/nowhere", filepath.Join(dir, "longshore.sock")); err != nil {
			t.Fatal(err)
		}
	}
}

// The name of the directory followed from the path of the state: another user of the machine
// made it first, and the host did not start.
func TestAnotherUserTookTheNameOfTheSocketsDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime, err := os.MkdirTemp("/tmp", "run") // TMPDIR could itself be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(runtime) })
	link := filepath.Join(dir, "longshore.sock")
	taken := ""
	for range 2 {
		t.Run("start", func(t *testing.T) {
			serve(t, &operator.Server{Dir: dir, Control: &control{}, Runtime: runtime})
			target, err := os.Readlink(link)
			if err != nil || filepath.Dir(target) == taken {
				t.Fatalf("%s, %v", target, err)
			}
			taken = filepath.Dir(target)
		})
		if err := os.Mkdir(taken, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	// A killed host leaves its directory, which the next one finds by the link.
	left := filepath.Join(runtime, "longshore-left")
	if err := errors.Join(os.Mkdir(left, 0o700), os.WriteFile(filepath.Join(left, "s"), nil, 0o600), os.Symlink(filepath.Join(left, "s"), link)); err != nil {
		t.Fatal(err)
	}
	t.Run("after a kill", func(t *testing.T) {
		serve(t, &operator.Server{Dir: dir, Control: &control{}, Runtime: runtime})
	})
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}

// A crashed host left its link, and the system cleared the directory to which it led: another user
// made it again and listened there. The commands believed what answered, and no host started.
func TestAnotherUserAnsweredBehindTheLinkOfACrashedHost(t *testing.T) {
	for name, take := range map[string]func(dir string) error{
		"open to others": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755)) },
		"a link":         func(dir string) error { return errors.Join(os.Mkdir(dir+"-", 0o700), os.Symlink(dir+"-", dir)) },
		"another user's": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 65534, 65534)) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another user's" && os.Geteuid() != 0 {
				need.Lacking(t, "give a directory to another user: this is not root")
			}
			dir := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
			runtime, err := os.MkdirTemp("/tmp", "run") // TMPDIR could itself be too long
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(runtime) })
			link, target := filepath.Join(dir, "longshore.sock"), filepath.Join(runtime, "longshore-left", "s")
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(target, link), take(filepath.Dir(target))); err != nil {
				t.Fatal(err)
			}
			ln, err := net.Listen("unix", target)
			if err != nil {
				t.Fatal(err)
			}
			theirs := httptest.NewUnstartedServer((&operator.Server{Control: &control{}}).Handler())
			theirs.Listener.Close()
			theirs.Listener = ln
			theirs.Start()
			defer theirs.Close()
			if status, err := operator.NewClient(dir).Status(t.Context()); !errors.Is(err, operator.ErrNoHost) {
				t.Fatalf("the client heard %+v, %v", status, err)
			}
			serve(t, &operator.Server{Dir: dir, Control: &control{}, Runtime: runtime})
			if now, err := os.Readlink(link); err != nil || now == target {
				t.Errorf("the link leads to %s, %v", now, err)
			}
			if _, err := os.Lstat(target); err != nil {
				t.Errorf("what is another's was removed: %v", err)
			}
		})
	}
}

func TestOtherUsersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Lacking(t, "become another user: this is not root")
	}
	// The helper must be reachable for a user who may not enter our cache.
	open, err := os.MkdirTemp("/tmp", "open")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(open) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(open, "helper")
	dir := filepath.Join(open, "state")
	err = errors.Join(os.Chmod(open, 0o755), os.WriteFile(helper, data, 0o755), os.Mkdir(dir, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	serve(t, &operator.Server{Dir: dir, Control: &control{}})
	path := filepath.Join(dir, "longshore.sock")
	ask := func(uid uint32) string {
		cmd := exec.Command(helper)
		cmd.Env = []string{dialEnv + "=" + path}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := ask(1000); !strings.HasPrefix(got, "refused") {
		t.Errorf("by the socket's mode: %s", got)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := ask(1000); strings.Contains(got, "/state") {
		t.Errorf("by the peer's user: %s", got)
	}
	if got := ask(0); !strings.Contains(got, "/state") {
		t.Errorf("our own user: %s", got)
	}
}

func TestCallsThatCannotBeMeant(t *testing.T) {
	h := (&operator.Server{Control: &control{}}).Handler()
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"oversized", "POST", "/v1/send", `{"group":"` + strings.Repeat("x", 70<<10) + `"}`, http.StatusRequestEntityTooLarge},
		{"not JSON", "POST", "/v1/send", `group=family`, http.StatusBadRequest},
		{"not UTF-8", "POST", "/v1/send", "{\"text\":\"caf\xe9\"}", http.StatusBadRequest},
		{"limit of words", "POST", "/v1/list", `{"limit":"many"}`, http.StatusBadRequest},
		{"no argument", "POST", "/v1/show", "", http.StatusBadRequest},
		{"unknown call", "POST", "/v1/items", "", http.StatusNotFound},
		{"wrong method", "GET", "/v1/status", "", http.StatusMethodNotAllowed},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, bytes.NewBufferString(c.body)))
			if w.Code != c.status {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
		})
	}
}
