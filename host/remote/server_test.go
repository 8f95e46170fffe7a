package remote

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/ipc"
)

const hello = "aGVsbG8=" // hello

// TestAFileComesIn as base64, as a form and by its path, into the token's conversation.
func TestAFileComesIn(t *testing.T) {
	w := newWorld(t)
	chat, thread := w.token("a", ""), w.token("a", "t1")
	got := w.send(chat, map[string]string{"buffer": hello, "file_name": "a.txt", "caption": "look"})
	if got.http != 200 || got.Status != ipc.Sent || got.ID == "" {
		t.Fatalf("%+v", got)
	}
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	_ = m.WriteField("alt", "a ship")
	part, _ := m.CreateFormFile("file", "b.bin")
	large := strings.Repeat("ship", 500_000)
	_, _ = io.WriteString(part, large)
	_ = m.Close()
	if got := w.ask("POST", "/api/send-media", thread, &form, "Content-Type", m.FormDataContentType()); got.http != 200 {
		t.Fatalf("%+v", got)
	}
	if got := w.send(chat, map[string]string{"path": "/workspace/group/c.txt"}); got.http != 200 {
		t.Fatalf("%+v", got)
	}
	all := w.all()
	if len(all) != 3 {
		t.Fatalf("%d came through", len(all))
	}
	first, second, third := all[0].it.Request, all[1].it.Request, all[2].it.Request
	if all[0].content != "hello" || first.Files[0].Name != "a.txt" || first.Files[0].Caption != "look" || first.Thread != "" || first.Turn != ipc.NoTurn {
		t.Errorf("%q %+v", all[0].content, first)
	}
	if all[1].content != large || second.Files[0].Name != "b.bin" || second.Files[0].Alt != "a ship" || second.Thread != "t1" {
		t.Errorf("%d bytes, %+v", len(all[1].content), second)
	}
	if third.Files[0].Path != "/workspace/group/c.txt" {
		t.Errorf("%+v", third)
	}
	if left, err := os.ReadDir(filepath.Join(w.dir, "ipc", "a", "files")); err != nil || len(left) > 0 {
		t.Error("staged bytes stay", left, err)
	}
	if left, err := os.ReadDir(w.temp()); err != nil || len(left) > 0 {
		t.Error("bodies stay", left, err)
	}
}

// TestWhatIsRefused says why, and keeps nothing.
func TestWhatIsRefused(t *testing.T) {
	w := newWorld(t)
	a, b := w.token("a", ""), w.token("b", "")
	post := func(token, kind, body string, headers ...string) answered {
		return w.ask("POST", "/api/send-media", token, strings.NewReader(body), append(headers, "Content-Type", kind)...)
	}
	for name, tt := range map[string]struct {
		got  answered
		http int
		code string
	}{
		"a path without a shared directory": {w.send(b, map[string]string{"path": "/workspace/group/a"}), 422, "not_shared"},
		"no file":                           {w.send(a, map[string]string{"caption": "x"}), 400, ipc.CodeMissing},
		"two files":                         {w.send(a, map[string]string{"path": "/workspace/group/a", "buffer": hello}), 400, ipc.CodeMissing},
		"no name":                           {w.send(a, map[string]string{"buffer": hello}), 400, ipc.CodeMissing},
		"no base64":                         {w.send(a, map[string]string{"buffer": "!", "file_name": "a"}), 400, ipc.CodeWrongValue},
		"an unknown style":                  {w.send(a, map[string]string{"path": "/workspace/group/a", "as": "hologram"}), 422, ipc.CodeUnknownStyle},
		"an unknown field":                  {w.send(a, map[string]string{"thread": "t2"}), 400, ipc.CodeUnknownKey},
		"a field twice":                     {post(a, "application/json", `{"path":"/a","path":"/b"}`), 400, ipc.CodeDuplicateKey},
		"no text":                           {post(a, "application/json", `{"path":7}`), 400, ipc.CodeWrongValue},
		"no JSON":                           {post(a, "application/json", `{"path"`), 400, ipc.CodeMalformed},
		"more than JSON":                    {post(a, "application/json", `{"path":"/a"} x`), 400, ipc.CodeMalformed},
		"another kind of body":              {post(a, "text/plain", `x`), 415, ipc.CodeMalformed},
		"too much text":                     {w.send(a, map[string]string{"path": "/workspace/group/a", "caption": strings.Repeat("x", maxFields)}), 413, ipc.CodeTooLarge},
		"a form that breaks off":            {post(a, "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc"), 400, ipc.CodeMalformed},
		"a key that is none":                {w.send(a, map[string]string{"path": "/workspace/group/a"}, "Idempotency-Key", strings.Repeat("k", 129)), 400, ipc.CodeWrongValue},
		"two keys":                          {w.send(a, map[string]string{"path": "/workspace/group/a", "idempotency_key": "1"}, "Idempotency-Key", "2"), 400, ipc.CodeConflict},
		"an odd wait":                       {w.ask("POST", "/api/send-media?wait=soon", a, nil), 400, ipc.CodeWrongValue},
		"nothing there":                     {w.ask("GET", "/api/secrets", a, nil), 404, "not_found"},
		"the road's refusal":                {w.send(a, map[string]string{"path": "/workspace/group/a", "caption": "no"}), 422, ""},
	} {
		if tt.got.http != tt.http || tt.got.Error.Code != tt.code {
			t.Errorf("%s: %d %s", name, tt.got.http, tt.got.body)
		}
	}
	if all := w.all(); len(all) > 0 {
		t.Errorf("%d were sent", len(all))
	}
	var rows int
	if err := w.State.QueryRow("SELECT count(*) FROM remote_call").Scan(&rows); err != nil || rows != 1 {
		t.Error("calls kept:", rows, err)
	}
}

// TestAFormIsNoLargerThanTheQuota: what is too large is cut off.
func TestAFormIsNoLargerThanTheQuota(t *testing.T) {
	w := newWorld(t)
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	part, _ := m.CreateFormFile("file", "b.bin")
	_, _ = part.Write(make([]byte, 4<<20+1))
	_ = m.Close()
	got := w.ask("POST", "/api/send-media", w.token("a", ""), &form, "Content-Type", m.FormDataContentType())
	if got.http != 413 || got.Error.Code != ipc.CodeTooLarge {
		t.Errorf("%d %s", got.http, got.body)
	}
	if open, _, bytes := w.bodies.Counts("a"); open > 0 || bytes > 0 {
		t.Error("the room is not given back")
	}
}

// TestAFullDiskTakesNoBody counts the bytes as they come.
func TestAFullDiskTakesNoBody(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Disk = diskFunc(func(int64) (func(), error) { return nil, errors.New("full") }) })
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	part, _ := m.CreateFormFile("file", "b.bin")
	_, _ = part.Write([]byte("x"))
	_ = m.Close()
	got := w.ask("POST", "/api/send-media", w.token("a", ""), &form, "Content-Type", m.FormDataContentType())
	if got.http != 507 || got.Error.Code != "disk_full" {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestTheSameKeyIsTheSameDelivery over a rotation of the token, and for its conversation only.
func TestTheSameKeyIsTheSameDelivery(t *testing.T) {
	w := newWorld(t)
	call := map[string]string{"buffer": hello, "file_name": "a.txt"}
	first := w.send(w.token("a", ""), call, "Idempotency-Key", "k")
	again := w.send(w.token("a", ""), call, "Idempotency-Key", "k")
	call["idempotency_key"] = "k"
	field := w.send(w.token("a", ""), call)
	if first.http != 200 || again.ID != first.ID || field.ID != first.ID || len(w.all()) != 1 {
		t.Errorf("%+v %+v %+v: %d sent", first, again, field, len(w.all()))
	}
	for name, other := range map[string]answered{
		"another thread": w.send(w.token("a", "t1"), call),
		"another group":  w.send(w.token("b", ""), call),
		"another key":    w.send(w.token("a", ""), call, "Idempotency-Key", "k"),
	} {
		if same := other.ID == first.ID; other.http != 200 || same != (name == "another key") {
			t.Errorf("%s: %+v", name, other)
		}
	}
	call["caption"] = "other"
	if got := w.send(w.token("a", ""), call); got.http != 409 || got.Error.Code != "key_conflict" {
		t.Errorf("%d %s", got.http, got.body)
	}
	delete(call, "idempotency_key")
	if one, two := w.send(w.token("a", ""), call), w.send(w.token("a", ""), call); one.ID == two.ID {
		t.Error("without a key, two calls are one delivery")
	}
}

// TestAHostThatDiedBetweenCallAndQueue has kept the call: repeated, it is submitted under its
// id. One that died after the road had it is known by the road.
func TestAHostThatDiedBetweenCallAndQueue(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	c := &mediaCall{fields: map[string]string{"path": "/workspace/group/a"}}
	call, err := w.calls.Record(t.Context(), tokens.Identity{Folder: "a"}, "k", c.content())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := w.send(token, map[string]string{"path": "/workspace/group/a"}, "Idempotency-Key", "k")
		if got.http != 200 || got.ID != call.ID || len(w.all()) != 1 {
			t.Errorf("%+v, %d sent", got, len(w.all()))
		}
		// as after a crash before the result is written
		for w.spool.Waits("a", call.ID) {
			time.Sleep(time.Millisecond)
		}
		if err := os.Remove(filepath.Join(w.dir, "ipc", "a", "results", call.ID+".json")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALateResultIsWaitedFor, and a withdrawn delivery is never sent.
func TestALateResultIsWaitedFor(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	w.hold(true)
	send := func() answered {
		return w.ask("POST", "/api/send-media?wait=0s", token, strings.NewReader(`{"path":"/workspace/group/a"}`), "Content-Type", "application/json")
	}
	late, gone := send(), send()
	if late.http != 202 || late.Status != ipc.Queued || gone.http != 202 {
		t.Fatalf("%+v %+v", late, gone)
	}
	if got := w.ask("DELETE", "/api/deliveries/"+gone.ID, token, nil); got.http != 204 {
		t.Errorf("withdrawn: %d %s", got.http, got.body)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if got := w.ask(method, "/api/deliveries/"+gone.ID, token, nil); got.http != 410 || got.Error.Code != "withdrawn" {
			t.Errorf("after that: %d %s", got.http, got.body)
		}
	}
	waited := make(chan answered, 1)
	go func() { waited <- w.ask("GET", "/api/deliveries/"+late.ID+"?wait=45s", token, nil) }()
	w.hold(false)
	if got := <-waited; got.http != 200 || got.Status != ipc.Sent {
		t.Errorf("%d %s", got.http, got.body)
	}
	if got := w.ask("DELETE", "/api/deliveries/"+late.ID, token, nil); got.http != 409 || got.Status != ipc.Sent {
		t.Errorf("withdrawn too late: %d %s", got.http, got.body)
	}
	if all := w.all(); len(all) != 1 || all[0].it.ID != late.ID {
		t.Errorf("%d sent", len(all))
	}
}

// TestAnothersIdsAreUnknown: status, words and headers are those of an id that never was.
func TestAnothersIdsAreUnknown(t *testing.T) {
	w := newWorld(t)
	mine := w.send(w.token("a", "t1"), map[string]string{"buffer": hello, "file_name": "a.txt"})
	if mine.http != 200 {
		t.Fatalf("%+v", mine)
	}
	for name, token := range map[string]string{"group": w.token("b", ""), "thread": w.token("a", "t2"), "chat": w.token("a", "")} {
		for _, method := range []string{"GET", "DELETE"} {
			never := w.ask(method, "/api/deliveries/01900000-0000-7000-8000-000000000000", token, nil)
			other := w.ask(method, "/api/deliveries/"+mine.ID, token, nil)
			if never.http != 404 || other.http != never.http || other.body != never.body {
				t.Errorf("%s, %s: %d %s, want %d %s", method, name, other.http, other.body, never.http, never.body)
			}
		}
	}
}

// TestWhoHasNoTokenIsToldTheSame whatever is wrong with the token.
func TestWhoHasNoTokenIsToldTheSame(t *testing.T) {
	statetest.SQLiteOnly(t, "it reads the database file")
	w := newWorld(t)
	ended, err := w.Make(t.Context(), "a", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Revoke(t.Context(), ended.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Revoke(t.Context(), ended.ID); !errors.Is(err, tokens.ErrUnknown) {
		t.Error(err)
	}
	away, err := w.Make(t.Context(), "a", "", "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	here, err := w.Make(t.Context(), "a", "", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	good := w.token("a", "")
	none := w.ask("GET", "/api/chat", "", nil)
	for name, token := range map[string]string{
		"none": "", "ended": ended.Secret, "from another address": away.Secret, "another secret": good[:len(good)-3] + "xyz", "its id": strings.Split(good, "_")[1], "nonsense": "%00' OR 1=1",
	} {
		if got := w.ask("GET", "/api/chat", token, nil); got.http != 401 || got.Error.Code != "no_token" || got.body != none.body {
			t.Errorf("%s: %d %s", name, got.http, got.body)
		}
	}
	if got := w.ask("GET", "/api/chat", good, nil, "Authorization", "Bearer "+good); got.http != 401 {
		t.Error("two tokens:", got.http)
	}
	for _, token := range []string{good, here.Secret} {
		if got := w.ask("GET", "/api/chat", token, nil); got.http != 200 || !strings.Contains(got.body, `"folder":"a"`) {
			t.Errorf("%d %s", got.http, got.body)
		}
	}
	if got := w.ask("GET", "/api/chat", w.token("b", ""), nil); got.http != 200 || strings.Contains(got.body, "/workspace") {
		t.Errorf("a group without an assistant of the host's sees directories: %s", got.body)
	}
	for _, peer := range []string{"here", "10.0.0.0/8"} {
		if _, err := w.Make(t.Context(), "a", "", peer); err == nil {
			t.Error("took the address", peer)
		}
	}
	if _, err := w.Make(t.Context(), "nobody", "", ""); err == nil {
		t.Error("made a token for no group")
	}
	list, err := w.List(t.Context())
	if err != nil || len(list) != 4 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
	statetest.SQLiteOnly(t, "it reads the database file")
	raw, err := os.ReadFile(filepath.Join(w.dir, "longshore.db-wal"))
	if err != nil || bytes.Contains(raw, []byte(strings.SplitN(good, "_", 3)[2])) {
		t.Error("the store holds the token", err)
	}
}

// TestWebPagesAreRefused before anything is looked up.
func TestWebPagesAreRefused(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Hosts = []string{"door.example"} })
	token := w.token("a", "")
	for name, tt := range map[string]struct {
		header [2]string
		http   int
		code   string
	}{
		"an origin":       {[2]string{"Origin", "http://127.0.0.1"}, 403, "cross_site"},
		"a null origin":   {[2]string{"Origin", "null"}, 403, "cross_site"},
		"another site":    {[2]string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_site"},
		"a rebound name":  {[2]string{"Host", "evil.example"}, 421, "unknown_host"},
		"a further name":  {[2]string{"Host", "door.example"}, 200, ""},
		"without a token": {[2]string{"Host", "evil.example:1"}, 421, "unknown_host"},
	} {
		if got := w.ask("GET", "/api/chat", token, nil, tt.header[0], tt.header[1]); got.http != tt.http || got.Error.Code != tt.code {
			t.Errorf("%s: %d %s", name, got.http, got.body)
		}
	}
}

// TestOldCallsAreForgotten with the results, and not before a day.
func TestOldCallsAreForgotten(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Live.(*settings).keep = time.Hour })
	token := w.token("a", "")
	old := w.send(token, map[string]string{"path": "/workspace/group/a"}, "Idempotency-Key", "k")
	if _, err := w.State.Exec(t.Context(), "UPDATE remote_call SET made = ?", time.Now().Add(-2*time.Hour).UnixNano()); err != nil {
		t.Fatal(err)
	}
	w.unlinked("a", old.ID)
	if err := errors.Join(os.Remove(filepath.Join(w.dir, "ipc", "a", "results", old.ID+".json")), w.deleteOld(t.Context())); err != nil {
		t.Fatal(err)
	}
	again := w.send(token, map[string]string{"path": "/workspace/group/a"}, "Idempotency-Key", "k")
	if again.http != 410 || again.Error.Code != "forgotten" || len(w.all()) != 1 {
		t.Errorf("a delivery that the outbox has forgotten is sent again: %+v", again)
	}
	if got := w.ask("GET", "/api/deliveries/"+old.ID, token, nil); got.http != 404 {
		t.Errorf("%d %s", got.http, got.body)
	}
	if _, err := w.State.Exec(t.Context(), "UPDATE remote_call SET made = ?", time.Now().Add(-25*time.Hour).UnixNano()); err != nil {
		t.Fatal(err)
	}
	if err := w.deleteOld(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.send(token, map[string]string{"path": "/workspace/group/a"}, "Idempotency-Key", "k"); got.ID == old.ID || got.http != 200 {
		t.Errorf("%+v", got)
	}
}
