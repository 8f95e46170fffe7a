package remote

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// order gives the server a request as the queue takes it.
func (w *world) order(token, key string, r ipc.Request) answered {
	w.t.Helper()
	b, err := ipc.Encode(r)
	if err != nil {
		w.t.Fatal(err)
	}
	headers := []string{"Content-Type", "application/json"}
	if key != "" {
		headers = append(headers, "Idempotency-Key", key)
	}
	return w.ask("POST", "/api/requests?wait=20s", token, bytes.NewReader(b), headers...)
}

// TestAFileInAnothersPlaceIsAnotherContent: the same files, of which another one stands twice.
func TestAFileInAnothersPlaceIsAnotherContent(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	w.put(token, "one", "1", 0)
	w.put(token, "two", "22", 0)
	files := func(paths ...string) (r ipc.Request) {
		r.Type = ipc.TypeFile
		for _, p := range paths {
			r.Files = append(r.Files, ipc.FileRef{Path: p, Name: "a.txt"})
		}
		return r
	}
	if got := w.order(token, "k", files("upload:one", "upload:one", "upload:two")); got.http != 200 {
		t.Fatalf("%d %s", got.http, got.body)
	}
	if got := w.order(token, "k", files("upload:one", "upload:two", "upload:two")); got.http != 409 || got.Error.Code != "key_conflict" {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestARequestTakesTheQueuesRoad with its uploads, in the token's conversation, once.
func TestARequestTakesTheQueuesRoad(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "t1")
	for id, content := range map[string]string{"one": "1", "two": "22", "text": "what two was printed from"} {
		if got := w.put(token, id, content, 0); got.http != 200 {
			t.Fatal(got.body)
		}
	}
	request := ipc.Request{Type: ipc.TypeFile, Turn: "turn-of-nobody", Time: "then", Files: []ipc.FileRef{
		{Path: "upload:one", Name: "one.txt", Caption: "look"}, {Path: "upload:two", Name: "two.pdf", Source: "upload:text"}}}
	first := w.order(token, "k", request)
	if first.http != 200 || first.Status != ipc.Sent {
		t.Fatalf("%d %s", first.http, first.body)
	}
	request.Time = "now"
	if again := w.order(w.token("b", "t1"), "k", request); again.http != 200 || again.ID != first.ID {
		t.Errorf("repeated: %d %s", again.http, again.body)
	}
	all := w.all()
	if len(all) != 1 || all[0].content != "1" || all[0].it.Request.Thread != "t1" || all[0].it.Request.Turn != ipc.NoTurn {
		t.Fatalf("%d sent: %+v", len(all), all)
	}
	files := all[0].it.Request.Files
	for i, path := range []string{files[0].Path, files[1].Path, files[1].Source} {
		if !strings.HasPrefix(path, queueMount+"files/"+first.ID+"/") || path == files[(i+1)%2].Path {
			t.Errorf("path %d is %s", i, path)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(w.Dir, "uploads", "*.part")); len(left) > 0 {
		t.Errorf("the bytes of uploads are kept: %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "ipc", "b", "files", "*")); len(left) > 0 {
		t.Errorf("copies are kept: %q", left)
	}
	w.put(token, "one-again", "1", 0)
	request.Files[0].Path = "upload:one-again"
	if again := w.order(token, "k", request); again.http != 200 || again.ID != first.ID || len(w.all()) != 1 {
		t.Errorf("repeated with a file that was uploaded again: %d %s", again.http, again.body)
	}
	request.Files[0].Caption = "other"
	if got := w.order(token, "k", request); got.http != 409 || got.Error.Code != "key_conflict" {
		t.Errorf("the same key with another caption: %d %s", got.http, got.body)
	}
	if got := w.order(token, "k2", request); got.http != 409 || got.Error.Code != "upload_spent" || len(w.all()) != 1 {
		t.Errorf("an upload sent twice: %d %s", got.http, got.body)
	}
}

// TestARepeatedRequestThatWaitsIsKnown although another call has sent its upload: it is
// neither lost nor refused.
func TestARepeatedRequestThatWaitsIsKnown(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	w.put(token, "one", "1", 0)
	w.hold(true)
	request := ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "upload:one", Name: "one.txt"}}}
	b, _ := ipc.Encode(request)
	ask := func() answered {
		return w.ask("POST", "/api/requests", token, bytes.NewReader(b), "Idempotency-Key", "k")
	}
	first, again := ask(), ask()
	if first.http != 202 || again.http != 202 || first.ID != again.ID {
		t.Errorf("%d %s, then %d %s", first.http, first.body, again.http, again.body)
	}
	w.hold(false)
	w.spool.Wake("b")
	if got := w.ask("GET", "/api/deliveries/"+first.ID+"?wait=45s", token, nil); got.Status != ipc.Sent || len(w.all()) != 1 {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestWhatARequestMayNotSay is refused with its reason, before anything is kept.
func TestWhatARequestMayNotSay(t *testing.T) {
	w := newWorld(t)
	a, b := w.token("a", "t1"), w.token("b", "")
	w.put(b, "one", "1", 0)
	file := func(f ipc.FileRef) ipc.Request { return ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{f}} }
	for name, tt := range map[string]struct {
		got  answered
		http int
		code string
	}{
		"another thread":           {w.order(a, "", ipc.Request{Type: ipc.TypeMessage, Text: "x", Thread: "t2"}), 422, ipc.CodeConflict},
		"a path not shared":        {w.order(b, "", file(ipc.FileRef{Path: "/workspace/group/a"})), 422, "not_shared"},
		"a source not shared":      {w.order(b, "", file(ipc.FileRef{Path: "upload:one", Name: "a", Source: "/etc/passwd"})), 422, "not_shared"},
		"another's upload":         {w.order(a, "", file(ipc.FileRef{Path: "upload:one", Name: "a"})), 404, "unknown_upload"},
		"an upload without a name": {w.order(b, "", file(ipc.FileRef{Path: "upload:one"})), 400, ipc.CodeMissing},
		"an unknown key":           {w.ask("POST", "/api/requests", a, strings.NewReader(`{"type":"message","text":"x","chatjid":"y"}`)), 422, ipc.CodeUnknownKey},
		"too much":                 {w.ask("POST", "/api/requests", a, strings.NewReader(strings.Repeat(" ", ipc.MaxRequest+1))), 413, ipc.CodeTooLarge},
		"no time":                  {w.ask("GET", "/api/deliveries/x?seen=now", a, nil), 400, ipc.CodeWrongValue},
	} {
		if tt.got.http != tt.http || tt.got.Error.Code != tt.code {
			t.Errorf("%s: %d %s", name, tt.got.http, tt.got.body)
		}
	}
	var rows int
	if err := w.State.QueryRow("SELECT count(*) FROM remote_call").Scan(&rows); err != nil || rows != 0 {
		t.Error("calls kept:", rows, err)
	}
}

// TestAChangedResultIsTold to who has seen the one before, although it is not final.
func TestAChangedResultIsTold(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	w.hold(true)
	var first answered
	eventually(t, func() bool { // the road has said why it waits
		if first.ID == "" {
			first = w.ask("POST", "/api/requests", token, strings.NewReader(`{"type":"file","filePath":"/workspace/group/a"}`))
		}
		first = w.ask("GET", "/api/deliveries/"+first.ID, token, nil)
		return first.Code != ""
	})
	told := make(chan answered, 1)
	go func() {
		told <- w.ask("GET", "/api/deliveries/"+first.ID+"?"+url.Values{"wait": {"45s"}, "seen": {first.Time.Format(time.RFC3339Nano)}}.Encode(), token, nil)
	}()
	if err := w.spool.WriteResult("a", ipc.Result{ID: first.ID, Status: ipc.Queued, Progress: &ipc.Progress{Sent: 1, Total: 2}}); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got.http != http.StatusAccepted || got.Progress == nil {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestADroppedUploadIsGone, and only its own conversation can drop it.
func TestADroppedUploadIsGone(t *testing.T) {
	w := newWorld(t)
	token := w.token("b", "")
	w.put(token, "one", "1", 0)
	if got := w.ask("DELETE", "/api/files/one", w.token("b", "t1"), nil); got.http != 404 || got.Error.Code != "unknown_upload" {
		t.Errorf("another conversation's: %d %s", got.http, got.body)
	}
	if got := w.ask("DELETE", "/api/files/one", token, nil); got.http != 204 || w.offset(token, "one") != -1 {
		t.Errorf("%d %s", got.http, got.body)
	}
	if left, err := os.ReadDir(w.uploadDir()); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

func eventually(t *testing.T, so func() bool) {
	t.Helper()
	tick, over := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatal("never")
		}
	}
}

// FuzzRequests: whatever is asked, the server answers, and keeps nothing of what it refuses.
func FuzzRequests(f *testing.F) {
	for _, r := range []ipc.Request{{Type: ipc.TypeMessage, Text: "x"}, {Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "upload:one", Name: "a", Source: "upload:../one"}}}} {
		b, _ := json.Marshal(r)
		f.Add(b)
		b, _ = ipc.Encode(r)
		f.Add(b)
	}
	w := newWorld(f)
	token := w.token("b", "")
	f.Fuzz(func(t *testing.T, b []byte) {
		r, answer := httptest.NewRequest("POST", "/api/requests", bytes.NewReader(b)), httptest.NewRecorder()
		r.Header.Set("Authorization", "Bearer "+token)
		r.Host = w.Addr().String()
		w.ServeHTTP(answer, r)
		var got answered
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code >= 500 || got.ID == "" && got.Error.Code == "" {
			t.Errorf("%q: %d %s", b, answer.Code, answer.Body)
		}
	})
}
