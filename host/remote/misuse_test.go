package remote

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("in vain: ", what)
		}
	}
}

// TestARepeatedCallDoesNotSendWhatIsBeingWithdrawn: the repetition found neither the request,
// which was unlinked, nor the note of the withdrawal, and submitted it again: the assistant
// was told that it would never be sent, and it was.
func TestARepeatedCallDoesNotSendWhatIsBeingWithdrawn(t *testing.T) {
	w := newWorld(t)
	w.hold(true)
	token := w.token("b", "")
	call := func() answered {
		return w.ask("POST", "/api/send-media?wait=0s", token, strings.NewReader(`{"buffer":"aGVsbG8=","file_name":"a.txt"}`),
			"Content-Type", "application/json", "Idempotency-Key", "k")
	}
	first := call()
	if first.http != 202 {
		t.Fatal(first.http, first.body)
	}
	withdrawn := make(chan answered, 1)
	go func() { withdrawn <- w.ask("DELETE", "/api/deliveries/"+first.ID, token, nil) }()
	until(t, "the request is unlinked", func() bool { return !w.spool.Waits("b", first.ID) })
	again := call()
	if got := <-withdrawn; got.http != 204 || again.http != 410 {
		t.Errorf("withdrawn: %d %s; called again: %d %s", got.http, got.body, again.http, again.body)
	}
	if w.spool.Waits("b", first.ID) {
		t.Error("it waits to be sent")
	}
	if got := call(); got.http != 410 || got.Error.Code != "withdrawn" {
		t.Errorf("%d %s", got.http, got.body)
	}
	w.calls.Lock(tokens.Identity{Folder: "b"}, first.ID)() // which each call has unlocked
}

// TestARevokedTokenGetsNoMessageByAnOpenFetch: a fetch that had begun before brought the
// messages of the next 45 seconds.
func TestARevokedTokenGetsNoMessageByAnOpenFetch(t *testing.T) {
	for _, posted := range []bool{false, true} {
		l := newLetters(t)
		w := newWorld(t, withLetters(l))
		made, err := w.Make(t.Context(), "b", "", "")
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan answered, 1)
		go func() { got <- w.ask("GET", "/api/inbox?wait=45s", made.Secret, nil) }()
		l.awaits(1)
		if err := w.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		if posted {
			l.post("secret")
		}
		if a := <-got; a.http != 401 || strings.Contains(a.body, "secret") {
			t.Errorf("%d %s", a.http, a.body)
		}
	}
}

// TestARevokedTokensBodyIsNotTaken: the rest of an upload or of a form came in, and was sent,
// however long after the token's end.
func TestARevokedTokensBodyIsNotTaken(t *testing.T) {
	w := newWorld(t)
	for name, head := range map[string]string{
		"upload": "PUT /api/files/film HTTP/1.1\r\nUpload-Length: 80\r\nUpload-SHA256: " + sumOf(strings.Repeat("x", 80)),
		"call":   "POST /api/send-media HTTP/1.1\r\nContent-Type: application/json",
	} {
		made, err := w.Make(t.Context(), "b", "", "")
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Repeat("x", 80)
		if name == "call" {
			body = fmt.Sprintf("%-80s", `{"buffer":"aGVsbG8=","file_name":"a.txt"}`)
		}
		c, err := net.Dial("tcp", w.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "%s\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: 80\r\n\r\n%s", head, w.Addr(), made.Secret, body[:40])
		until(t, "the body is read", func() bool { open, _, _ := w.bodies.Counts("b"); return open == 1 })
		if err := w.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, body[40:])
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != 401 {
			t.Error(name, res.Status)
		}
	}
	if len(w.all()) > 0 || w.offset(w.token("b", ""), "film") == 80 {
		t.Error("it was taken")
	}
}

// TestCallsThatWaitDoNotFillTheDisk: each left a copy of its file in the queue, without a bound
// for all, as long as the host accepted none.
func TestCallsThatWaitDoNotFillTheDisk(t *testing.T) {
	w := newWorld(t)
	w.hold(true)
	token := w.token("b", "")
	megabytes := base64.StdEncoding.EncodeToString(make([]byte, 3<<19))
	call := func(key string) answered {
		return w.ask("POST", "/api/send-media?wait=0s", token, strings.NewReader(`{"file_name":"a.bin","buffer":"`+megabytes+`"}`),
			"Content-Type", "application/json", "Idempotency-Key", key)
	}
	for i, want := range []int{202, 202, 429, 429} {
		if got := call(fmt.Sprint(i)); got.http != want {
			t.Errorf("%d: %d %s", i, got.http, got.body)
		}
	}
	copies, err := filepath.Glob(filepath.Join(w.dir, "ipc/b/files/*/content"))
	if err != nil || len(copies) != 2 {
		t.Error(copies, err)
	}
	w.hold(false)
	w.spool.Wake("b")
	until(t, "both are sent", func() bool { return len(w.all()) == 2 })
	for i := range 6 { // whose results nobody asks for
		until(t, "another one is taken", func() bool { return call(fmt.Sprint(i)).http < 300 })
	}
	until(t, "all are sent once", func() bool { return len(w.all()) == 6 })
}

// TestCallsWithoutEndFilledTheStore: a call that is told to come again leaves nothing there, and
// a group has a bound of calls, beyond which its keys still count.
func TestCallsWithoutEndFilledTheStore(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Limits.Calls = 5 })
	b, c := w.token("b", ""), w.token("a", "")
	rows := func() (n int) {
		if err := w.State.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM remote_call`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	call := func(token, key string) answered {
		return w.send(token, map[string]string{"buffer": "eA==", "file_name": "a.txt"}, "Idempotency-Key", key)
	}
	first := call(b, "1")
	if second := call(b, "2"); first.http != 200 || second.http != 200 {
		t.Fatalf("%d, then %d", first.http, second.http)
	}
	w.hold(true)
	large := strings.Repeat("eHh4", 1<<19)
	for i, want := range []int{202, 202, 429, 429, 429} {
		if got := w.ask("POST", "/api/send-media?wait=0s", b, strings.NewReader(`{"file_name":"a.bin","buffer":"`+large+`"}`), "Content-Type", "application/json"); got.http != want {
			t.Errorf("large call %d: %d %s", i, got.http, got.body)
		}
	}
	w.hold(false)
	w.spool.Wake("b")
	if fifth := call(b, "5"); fifth.http != 200 || rows() != 5 {
		t.Errorf("%d %s; %d rows", fifth.http, fifth.body, rows())
	}
	for _, counted := range []string{"as they came", "in the database"} {
		if sixth := call(b, "6"); sixth.http != 429 || sixth.Error.Code != "busy" || rows() != 5 {
			t.Errorf("counted %s: %d %s; %d rows", counted, sixth.http, sixth.body, rows())
		}
		if again := call(b, "1"); again.http != 200 || again.ID != first.ID {
			t.Errorf("the same key: %d %s", again.http, again.body)
		}
		if err := w.deleteOld(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if other := call(c, "1"); other.http != 200 {
		t.Errorf("another group: %d %s", other.http, other.body)
	}
}

// TestAContentInACallIsOneText: a list of many small values of 28 MB became 700 MB in memory.
func TestAContentInACallIsOneText(t *testing.T) {
	w := newWorld(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_attachment","arguments":{"file_name":"a.txt","content_base64":[` +
		strings.Repeat("[],", maxFields) + `[]]}}}`
	got := w.ask("POST", mcpPath, w.token("b", ""), strings.NewReader(body), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
	if got.http != 413 || got.Error.Code != ipc.CodeTooLarge {
		t.Errorf("%d %.200s", got.http, got.body)
	}
}

// TestBytesThatAKilledHostLeftAreNotThoseOfTheNextUpload: they stood before its own, and its hash
// was wrong.
func TestBytesThatAKilledHostLeftAreNotThoseOfTheNextUpload(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	if err := os.WriteFile(w.partOf(uploadName(tokens.Identity{Folder: "b"}, "one")), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.put(token, "one", "hello", 0); got.http != 200 || !strings.Contains(got.body, `"whole":true`) {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestAnUploadBegunAnewUnderItsIdStays: the end of an earlier delivery, by name, took it away.
func TestAnUploadBegunAnewUnderItsIdStays(t *testing.T) {
	w := newWorld(t)
	w.hold(true)
	token := w.token("b", "")
	w.put(token, "one", "old", 0)
	sent := make(chan answered, 1)
	go func() { sent <- w.send(token, map[string]string{"upload": "one", "file_name": "a.txt"}) }()
	until(t, "the first waits", func() bool {
		files, _ := filepath.Glob(filepath.Join(w.dir, "ipc/b/messages/*.json"))
		return len(files) == 1
	})
	if got := w.ask("DELETE", "/api/files/one", token, nil); got.http != 204 {
		t.Fatal(got.body)
	}
	if got := w.put(token, "one", "newer", 0); got.http != 200 {
		t.Fatal(got.body)
	}
	w.hold(false)
	w.spool.Wake("b")
	if got := <-sent; got.http != 200 {
		t.Fatal(got.body)
	}
	if got := w.send(token, map[string]string{"upload": "one", "file_name": "a.txt"}); got.http != 200 {
		t.Errorf("%d %s", got.http, got.body)
	}
	if all := w.all(); len(all) != 2 || all[0].content != "old" || all[1].content != "newer" {
		t.Errorf("%+v", all)
	}
}

// largeCall calls a tool of MCP's with more than Limits.Fields in it.
func (w *world) largeCall(token string) answered {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_attachment","arguments":{"file_name":"a.txt","content_base64":"` +
		strings.Repeat("eHh4", maxFields/2) + `"}}}`
	return w.ask("POST", mcpPath, token, strings.NewReader(body), "Content-Type", "application/json", "Accept", "application/json, text/event-stream")
}

// TestALargeCallGaveItsPlaceBackBeforeItsBytesWereStaged: all of a group's connections could have
// such a call in memory, several times each.
func TestALargeCallGaveItsPlaceBackBeforeItsBytesWereStaged(t *testing.T) {
	var inside atomic.Int32
	on := make(chan struct{})
	w := newWorld(t, func(o *Options) {
		o.Chats = chatsFunc(func(g groups.Group) ipc.Context { // of a call whose body is read
			inside.Add(1)
			<-on
			return chatOf(g)
		})
	})
	token := w.token("b", "")
	called := make(chan answered, intake.MaxBodies)
	for range intake.MaxBodies {
		go func() { called <- w.largeCall(token) }()
	}
	until(t, "the calls are read", func() bool { return inside.Load() == intake.MaxBodies })
	small := map[string]string{"buffer": hello, "file_name": "a.txt"}
	if got := w.send(token, small); got.http != 429 {
		t.Errorf("one more body: %d %s", got.http, got.body)
	}
	close(on)
	for range intake.MaxBodies {
		if got := <-called; got.http != 200 || !strings.Contains(got.body, `"status":"sent"`) {
			t.Errorf("%d %s", got.http, got.body)
		}
	}
	if got := w.send(token, small); got.http != 200 {
		t.Errorf("after them: %d %s", got.http, got.body)
	}
}

// TestLargeCallsThatWaitedHeldMemoryWithoutBound: four wait for their results, and take no place
// from bodies that come. A further one hears at once that its delivery is queued.
func TestLargeCallsThatWaitedHeldMemoryWithoutBound(t *testing.T) {
	w := newWorld(t)
	w.hold(true)
	token := w.token("b", "")
	called := make(chan answered, intake.MaxBodies)
	for range intake.MaxBodies {
		go func() { called <- w.largeCall(token) }()
	}
	queued := func() int {
		files, _ := filepath.Glob(filepath.Join(w.dir, "ipc/b/messages/*.json"))
		return len(files)
	}
	until(t, "the calls wait", func() bool { _, stay, _ := w.bodies.Counts("b"); return stay == intake.MaxBodies })
	for i := range 2 {
		got := w.largeCall(token)
		if got.http != 200 || !strings.Contains(got.body, `"status":"queued"`) || queued() != intake.MaxBodies+i+1 {
			t.Errorf("one more: %d %s; %d are queued", got.http, got.body, queued())
		}
	}
	if len(called) > 0 {
		t.Errorf("it waited until %d others had ended", len(called))
	}
	if got := w.put(token, "one", "1", 0); got.http != 200 {
		t.Errorf("an upload: %d %s", got.http, got.body)
	}
	w.hold(false)
	w.spool.Wake("b")
	for range intake.MaxBodies {
		if got := <-called; got.http != 200 || !strings.Contains(got.body, `"status":"sent"`) {
			t.Errorf("%d %s", got.http, got.body)
		}
	}
	until(t, "all are sent", func() bool { return len(w.all()) == intake.MaxBodies+2 })
	until(t, "the places are given back", func() bool { open, stay, _ := w.bodies.Counts("b"); return open+stay == 0 })
}

// broken is a file that the disk cannot read to its end.
type broken struct{ *bytes.Reader }

var errDisk = errors.New("input/output error")

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p[:min(len(p), 1<<10)])
	if b.Reader.Len() < 1<<20 {
		err = errDisk
	}
	return n, err
}

// WriteTo is that of the reader, without which it would be copied past Read.
func (b broken) WriteTo(to io.Writer) (int64, error) { return io.Copy(to, struct{ io.Reader }{b}) }

// TestAFailedCopyKeptAGroupBusyForEver: a call whose bytes the disk did not take counted as
// waiting until the host's restart.
func TestAFailedCopyKeptAGroupBusyForEver(t *testing.T) {
	w := newWorld(t)
	who, large := tokens.Identity{Folder: "b"}, make([]byte, 3<<20)
	request := ipc.Request{Type: ipc.TypeFile, Turn: ipc.NoTurn, Files: []ipc.FileRef{{Path: "one", Name: "a"}, {Path: "two", Name: "b"}}}
	fail := func(r ipc.Request, second io.ReadSeeker) error {
		_, err := w.Server.deliver(t.Context(), who, "", []byte("x"), r, []stagedFile{{path: "one", name: "one", file: strings.NewReader("1")}, {path: "two", name: "two", file: second}})
		return err
	}
	for range 3 {
		if err := fail(request, broken{bytes.NewReader(large)}); !errors.Is(err, errDisk) {
			t.Errorf("a copy that fails: %v", err)
		}
		if err := fail(ipc.Request{Type: "none"}, bytes.NewReader(large)); err == nil || errors.Is(err, errBusy) {
			t.Errorf("a request that is none: %v", err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(w.dir, "ipc/b/files/*")); err != nil || len(left) > 0 || len(w.waiting.of) > 0 {
		t.Errorf("left: %q, %v, %v", left, w.waiting.of, err)
	}
	if got := w.send(w.token("b", ""), map[string]string{"buffer": base64.StdEncoding.EncodeToString(large), "file_name": "a.bin"}); got.http != 200 {
		t.Errorf("the next call: %d %s", got.http, got.body)
	}
}

// TestACallWhoseResultWasForgottenKeptAGroupBusyForEver: its copies counted as waiting if its result
// had been deleted, a week later, before another call needed the room.
func TestACallWhoseResultWasForgottenKeptAGroupBusyForEver(t *testing.T) {
	w := newWorld(t)
	token, large := w.token("b", ""), base64.StdEncoding.EncodeToString(make([]byte, 3<<20))
	call := func() answered {
		return w.ask("POST", "/api/send-media?wait=0s", token, strings.NewReader(`{"file_name":"a.bin","buffer":"`+large+`"}`), "Content-Type", "application/json")
	}
	w.hold(true)
	first := call()
	if first.http != 202 {
		t.Fatalf("%d %s", first.http, first.body)
	}
	if second := call(); second.http != 429 {
		t.Errorf("while the first waits: %d %s", second.http, second.body)
	}
	w.hold(false)
	w.spool.Wake("b")
	result := filepath.Join(w.dir, "ipc/b/results", first.ID+".json")
	until(t, "it is sent", func() bool {
		r, _ := w.spool.Result("b", first.ID)
		return r.Status == ipc.Sent && !w.spool.Waits("b", first.ID)
	})
	if err := os.Remove(result); err != nil {
		t.Fatal(err)
	}
	if got := call(); got.http >= 300 {
		t.Errorf("after it: %d %s", got.http, got.body)
	}
}

// TestACopyInTheQueueTookTheDisksLastRoom: only bodies that came into a file were counted.
func TestACopyInTheQueueTookTheDisksLastRoom(t *testing.T) {
	var reserved, free atomic.Int64
	free.Store(4)
	w := newWorld(t, func(o *Options) {
		o.Disk = diskFunc(func(n int64) (func(), error) {
			if n > free.Load() {
				return nil, errors.New("full")
			}
			reserved.Add(n)
			return func() { reserved.Add(-n) }, nil
		})
	})
	token := w.token("b", "")
	call := func() answered {
		return w.send(token, map[string]string{"buffer": hello, "file_name": "a.txt"}, "Idempotency-Key", "k")
	}
	if got := call(); got.http != 507 || got.Error.Code != "disk_full" {
		t.Errorf("%d %s", got.http, got.body)
	}
	if rows := 0; w.State.QueryRow("SELECT count(*) FROM remote_call").Scan(&rows) != nil || rows != 0 || len(w.waiting.of) > 0 {
		t.Errorf("%d calls are kept, %v", rows, w.waiting.of)
	}
	if got := w.order(token, "", ipc.Request{Type: ipc.TypeMessage, Text: "x"}); got.http != 200 {
		t.Errorf("a text: %d %s", got.http, got.body)
	}
	free.Store(5)
	if got := call(); got.http != 200 || reserved.Load() != 0 {
		t.Errorf("%d %s; %d bytes stay reserved", got.http, got.body, reserved.Load())
	}
}
