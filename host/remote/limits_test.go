package remote

import (
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

// takesHeader says whether a server takes a request with a header of 12 KiB. One that does not may
// end the connection before its answer is read.
func (w *world) takesHeader(token string) bool {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.url+"/api/chat", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("X-Long", strings.Repeat("x", 12<<10))
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// TestBoundsWereNoSettings: each bound of a server is that of its options.
func TestBoundsWereNoSettings(t *testing.T) {
	w := newWorld(t, func(o *Options) {
		o.Limits = intake.Limits{Fields: 200, Buffer: 300, Uploads: 1, UploadFor: time.Hour, Header: 8 << 10}
	})
	token := w.token("b", "")
	small := strings.Repeat("eHh4", 50)
	for name, tt := range map[string]struct {
		got  answered
		http int
		code string
	}{
		"a text":         {w.send(token, map[string]string{"buffer": "eA==", "file_name": "a", "caption": strings.Repeat("x", 200)}), 413, ipc.CodeTooLarge},
		"a file":         {w.send(token, map[string]string{"buffer": small + small + small, "file_name": "a"}), 413, ipc.CodeTooLarge},
		"a smaller file": {w.send(token, map[string]string{"buffer": small, "file_name": "a"}), 200, ""},
		"a tool's file": {w.ask("POST", mcpPath, token, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_attachment","arguments":{"file_name":"a","content_base64":"`+
			small+small+small+`"}}}`), "Content-Type", "application/json"), 413, ipc.CodeTooLarge},
	} {
		if tt.got.http != tt.http || tt.got.Error.Code != tt.code {
			t.Errorf("%s: %d %.200s", name, tt.got.http, tt.got.body)
		}
	}
	if w.takesHeader(token) {
		t.Error("a header above the bound is taken")
	}
	begin := func(id string) answered {
		return w.ask("PUT", "/api/files/"+id, token, strings.NewReader("x"), "Upload-Length", "2", "Upload-SHA256", strings.Repeat("0", 64))
	}
	if first, second := begin("one"), begin("two"); first.http != 200 || second.http != 429 {
		t.Errorf("uploads: %d, then %d", first.http, second.http)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(w.partOf(uploadName(tokens.Identity{Folder: "b"}, "one")), old, old); err != nil {
		t.Fatal(err)
	}
	if w.sweep(t.Context()); begin("two").http != 200 {
		t.Error("an upload outlived its time")
	}
}

// TestBoundsOfConnectionsWereNoSettings, nor the time of a header.
func TestBoundsOfConnectionsWereNoSettings(t *testing.T) {
	connect := func(w *world, says string) net.Conn {
		c, err := net.Dial("tcp", w.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // long before the default
		_, _ = c.Write([]byte(says))
		return c
	}
	ends := func(c net.Conn) bool {
		_, err := c.Read(make([]byte, 1))
		return err != nil && !os.IsTimeout(err)
	}
	const crawling = "GET / HTTP/1.1\r\n"
	quick := newWorld(t, func(o *Options) { o.Limits = intake.Limits{HeaderTime: 200 * time.Millisecond, Group: 1} })
	token := quick.token("b", "")
	if !quick.takesHeader(token) {
		t.Error("a header within the bound is refused")
	}
	until(t, "that connection has ended", func() bool {
		guest, status := connect(quick, "GET /api/chat HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"), make([]byte, 12)
		_, err := io.ReadFull(guest, status)
		return err == nil && string(status) == "HTTP/1.1 200"
	})
	if got := quick.ask("GET", "/api/chat", token, nil); got.http != 429 {
		t.Errorf("a second connection of a group: %d", got.http)
	}
	if !ends(connect(quick, crawling)) {
		t.Error("a header that crawls keeps its connection")
	}
	few := newWorld(t, func(o *Options) { o.Limits = intake.Limits{Strangers: 1} })
	first := connect(few, crawling)
	connect(few, crawling)
	if !ends(first) {
		t.Error("there is room for two strangers")
	}
}

// TestAnUploadThatIsTooOldIsGoneAtTheStart: a host that was restarted within each hour kept it
// for ever.
func TestAnUploadThatIsTooOldIsGoneAtTheStart(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	w.put(token, "one", "1", 0)
	part := w.partOf(uploadName(tokens.Identity{Folder: "b"}, "one"))
	old := time.Now().Add(-uploadFor)
	if err := os.Chtimes(part, old, old); err != nil {
		t.Fatal(err)
	}
	w.stop()
	again := newWorld(t, func(o *Options) { o.Dir, o.State = w.Dir, w.State })
	again.stop()
	if _, err := os.Stat(part); err == nil {
		t.Error("it is still there")
	}
}

// TestAnotherConversationsCallsWaitForNobody: who takes back a delivery of another group hears
// at once that it is unknown, also while its own group has it.
func TestAnotherConversationsCallsWaitForNobody(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	id := w.send(token, map[string]string{"path": "/workspace/group/a"}).ID
	defer w.calls.Lock(tokens.Identity{Folder: "a"}, id)()
	if got := w.ask("DELETE", "/api/deliveries/"+id, w.token("b", ""), nil); got.http != 404 || got.Error.Code != ipc.CodeUnknown {
		t.Errorf("%d %s", got.http, got.body)
	}
}
