package remote

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/ipc"
)

func sumOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// put sends the rest of content from an offset on.
func (w *world) put(token, id, content string, from int, more ...string) answered {
	w.t.Helper()
	return w.ask("PUT", "/api/files/"+id, token, strings.NewReader(content[from:]), append([]string{
		"Upload-Length", strconv.Itoa(len(content)), "Upload-SHA256", sumOf(content), "Upload-Offset", strconv.Itoa(from),
	}, more...)...)
}

// offset is how far an upload is, as HEAD says; -1: there is none.
func (w *world) offset(token, id string) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), "HEAD", w.url+"/api/files/"+id, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return -1
	}
	n, err := strconv.Atoi(res.Header.Get("Upload-Offset"))
	if err != nil {
		w.t.Fatal(res.StatusCode, err)
	}
	return n
}

// cut sends the first n bytes of a PUT and breaks the connection off.
func (w *world) cut(token, id, content string, from, n int) {
	w.t.Helper()
	c, err := net.Dial("tcp", w.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = fmt.Fprintf(c, "PUT /api/files/%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nUpload-Length: %d\r\nUpload-SHA256: %s\r\nUpload-Offset: %d\r\nContent-Length: %d\r\n\r\n%s",
		id, w.Addr(), token, len(content), sumOf(content), from, len(content)-from, content[from:from+n])
	if err := errors.Join(err, c.(*net.TCPConn).CloseWrite()); err != nil {
		w.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, c) // until the host has kept what came
	_ = c.Close()
}

// TestAnUploadGoesOnWhereItWasCut, at chosen places and over a restart of nothing but its
// connection, and is sent byte for byte, once.
func TestAnUploadGoesOnWhereItWasCut(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	content := strings.Repeat("0123456789", 30_000)
	at := 0
	for _, n := range []int{0, 1, 4096, 100_000, 150_000} {
		w.cut(token, "film", content, at, n)
		if at += n; w.offset(token, "film") != at {
			t.Fatalf("after %d bytes the offset is %d", at, w.offset(token, "film"))
		}
	}
	call := map[string]string{"upload": "film", "file_name": "film.bin"}
	if got := w.send(token, call); got.http != 409 || got.Error.Code != "not_whole" {
		t.Errorf("%d %s", got.http, got.body)
	}
	if got := w.put(token, "film", content, at-1); got.http != 409 || got.Error.Code != "wrong_offset" {
		t.Errorf("%d %s", got.http, got.body)
	}
	if got := w.put(token, "film", content, at); got.http != 200 || !strings.Contains(got.body, `"whole":true`) {
		t.Fatalf("%d %s", got.http, got.body)
	}
	first := w.send(token, call, "Idempotency-Key", "k")
	again := w.send(token, call, "Idempotency-Key", "k")
	if first.http != 200 || again.ID != first.ID {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	if all := w.all(); len(all) != 1 || all[0].content != content {
		t.Errorf("%d sent", len(all))
	}
	if got := w.send(token, call); got.http != 409 || got.Error.Code != "upload_spent" {
		t.Errorf("another delivery of a spent upload: %d %s", got.http, got.body)
	}
	if left, err := os.ReadDir(w.uploadDir()); err != nil || len(left) != 0 {
		t.Error("the bytes stay", left, err)
	}
	if _, err := w.State.Exec(t.Context(), "UPDATE remote_upload SET changed = ?", time.Now().Add(-uploadFor).UnixNano()); err != nil {
		t.Fatal(err)
	}
	if err := w.expireUploads(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.upload(uploadName(tokens.Identity{Folder: "a"}, "film")); err != error(errNoUpload) {
		t.Error("what was sent a day ago is remembered", err)
	}
}

// TestAnUploadOfADeadMachineCountedAsSent: its bytes lie there, and the next host said that they had been
// sent.
func TestAnUploadOfADeadMachineCountedAsSent(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	call := func(id string) map[string]string { return map[string]string{"upload": id, "file_name": "film.bin"} }
	if got := w.put(token, "film", "content", 0); got.http != 200 {
		t.Fatalf("%d %s", got.http, got.body)
	}
	if err := os.RemoveAll(w.uploadDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.uploadDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := w.send(token, call("film"), "Idempotency-Key", "k"); got.http != 409 || got.Error.Code != "upload_lost" || len(w.all()) > 0 {
		t.Errorf("%d %s", got.http, got.body)
	}
	if got := w.put(token, "again", "content", 0); got.http != 200 {
		t.Fatalf("%d %s", got.http, got.body)
	}
	if got := w.send(token, call("again"), "Idempotency-Key", "k"); got.http != 200 {
		t.Errorf("%d %s", got.http, got.body)
	}
	if all := w.all(); len(all) != 1 || all[0].content != "content" {
		t.Errorf("%d sent", len(all))
	}
}

// TestSentUploadsDoNotSlowTheNextDown: what is counted before an upload is what waits.
func TestSentUploadsDoNotSlowTheNextDown(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	w.put(token, "one", "hello", 0)
	if got := w.send(token, map[string]string{"upload": "one", "file_name": "a"}); got.http != 200 {
		t.Fatal(got.body)
	}
	name := uploadName(tokens.Identity{Folder: "a"}, "one")
	if u, _, err := w.upload(name); err != nil || !u.Sent {
		t.Errorf("%+v, %v", u, err)
	}
	if open, all, kept, err := unsent(w.State.QueryRow(countUnsent, "a")); open+all != 0 || kept != 0 || err != nil {
		t.Errorf("%d open, %d in all, %d bytes, %v", open, all, kept, err)
	}
	if got := w.ask("DELETE", "/api/files/one", token, nil); got.http != 204 || w.offset(token, "one") != -1 {
		t.Errorf("deleted: %d %s", got.http, got.body)
	}
}

// TestUploadsThatBeginTogetherDoNotExceedWhatAGroupMay: each was counted before the others
// were kept.
func TestUploadsThatBeginTogetherDoNotExceedWhatAGroupMay(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			r := httptest.NewRequest("PUT", "/", nil)
			r.Header.Set("Upload-Length", "5")
			r.Header.Set("Upload-SHA256", sumOf("hello"))
			_, _ = w.newUpload(r, tokens.Identity{Folder: "a"}, uploadName(tokens.Identity{Folder: "a"}, fmt.Sprint(i)))
		})
	}
	all.Wait()
	if open, _, _, err := unsent(w.State.QueryRow(countUnsent, "a")); open != maxUploads || err != nil {
		t.Errorf("%d uploads are open: %v", open, err)
	}
	if got := w.put(token, "more", "hello", 0); got.http != errBusy.Status || got.Error.Code != errBusy.Code {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestAnUploadIsOfItsConversation: for every other one it is not there.
func TestAnUploadIsOfItsConversation(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "t1")
	if got := w.put(token, "x", "hello", 0); got.http != 200 {
		t.Fatal(got.body)
	}
	for _, other := range []string{w.token("a", ""), w.token("b", ""), w.token("a", "t2")} {
		got, never := w.send(other, map[string]string{"upload": "x", "file_name": "a"}), w.send(other, map[string]string{"upload": "never", "file_name": "a"})
		if w.offset(other, "x") != -1 || got.http != 404 || got.Error.Code != "unknown_upload" || got.body != never.body {
			t.Errorf("%d %s", got.http, got.body)
		}
	}
}

// TestWhatAnUploadMayNot: each with its reason.
func TestWhatAnUploadMayNot(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	big := strconv.Itoa(5 << 20)
	w.cut(token, "mine", "hello", 0, 2)
	for name, tt := range map[string]struct {
		got  answered
		http int
		code string
	}{
		"no length":      {w.ask("PUT", "/api/files/x", token, strings.NewReader("a")), 400, ipc.CodeMissing},
		"no number":      {w.ask("PUT", "/api/files/x", token, nil, "Upload-Length", "-1"), 400, ipc.CodeWrongValue},
		"no id":          {w.put(token, "..%2fx", "a", 0), 400, ipc.CodeWrongValue},
		"too large":      {w.ask("PUT", "/api/files/x", token, nil, "Upload-Length", big, "Upload-SHA256", sumOf("")), 413, ipc.CodeTooLarge},
		"another file":   {w.put(token, "mine", "other", 2), 409, "other_upload"},
		"another hash":   {w.ask("PUT", "/api/files/y", token, strings.NewReader("a"), "Upload-Length", "1", "Upload-SHA256", sumOf("b")), 422, "wrong_sha256"},
		"too many bytes": {w.ask("PUT", "/api/files/z", token, strings.NewReader("abc"), "Upload-Length", "1", "Upload-SHA256", sumOf("a")), 400, ipc.CodeMalformed},
	} {
		if tt.got.http != tt.http || tt.got.Error.Code != tt.code {
			t.Errorf("%s: %d %s", name, tt.got.http, tt.got.body)
		}
	}
	if w.offset(token, "y") != -1 {
		t.Error("a wrong upload stays")
	}
	for i := range maxUploads + 1 {
		w.cut(token, fmt.Sprint("n", i), "hello", 0, 1)
	}
	if got := w.put(token, "one-more", "hello", 0); got.http != 429 {
		t.Errorf("%d %s", got.http, got.body)
	}
	name := uploadName(tokens.Identity{Folder: "a"}, "mine")
	w.uploads.begin(name)
	if got := w.put(token, "mine", "hello", 2); got.http != 409 || got.Error.Code != "upload_busy" {
		t.Errorf("a second writer: %d %s", got.http, got.body)
	}
	w.uploads.end(name)
	if got := w.put(token, "mine", "hello", 2); got.http != 200 {
		t.Errorf("%d %s", got.http, got.body)
	}
}

// TestAnUploadIsGoneADayAfterItsLastByte, and not before.
func TestAnUploadIsGoneADayAfterItsLastByte(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	for _, id := range []string{"old", "young"} {
		w.cut(token, id, "hello", 0, 3)
	}
	old := time.Now().Add(-uploadFor)
	if err := errors.Join(os.Chtimes(w.partOf(uploadName(tokens.Identity{Folder: "a"}, "old")), old, old), w.expireUploads()); err != nil {
		t.Fatal(err)
	}
	if w.offset(token, "old") != -1 || w.offset(token, "young") != 3 {
		t.Error(w.offset(token, "old"), w.offset(token, "young"))
	}
}

// TestUploadsOfKilledSessionsRefusedAllOthersForADay: they had the group's four places until they
// expired. One that has had no byte for ten minutes gives way, the oldest first, unless it is
// being written.
func TestUploadsOfKilledSessionsRefusedAllOthersForADay(t *testing.T) {
	w := newWorld(t)
	token, who := w.token("a", ""), tokens.Identity{Folder: "a"}
	idle := func(id string, since time.Duration) {
		t.Helper()
		at := time.Now().Add(-since)
		if err := os.Chtimes(w.partOf(uploadName(who, id)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for id, since := range map[string]time.Duration{"older": 3 * uploadIdle, "old": 2 * uploadIdle, "young": uploadIdle - time.Minute, "written": 4 * uploadIdle} {
		w.cut(token, id, "hello", 0, 3)
		idle(id, since)
	}
	w.cut(w.token("b", ""), "others", "hello", 0, 3)
	others := uploadName(tokens.Identity{Folder: "b"}, "others")
	if past := time.Now().Add(-9 * uploadIdle); os.Chtimes(w.partOf(others), past, past) != nil {
		t.Fatal("no upload of the other group")
	}
	w.uploads.begin(uploadName(who, "written"))
	for i, want := range []int{200, 200, 429} {
		if got := w.ask("PUT", fmt.Sprint("/api/files/new", i), token, strings.NewReader("he"), "Upload-Length", "5", "Upload-SHA256", sumOf("hello")); got.http != want {
			t.Errorf("a new upload: %d %s", got.http, got.body)
		}
		if i == 0 && (w.offset(token, "older") != -1 || w.offset(token, "old") != 3) {
			t.Error("another one than the oldest gave way")
		}
	}
	for id, want := range map[string]int{"older": -1, "old": -1, "young": 3, "written": 3, "new0": 2, "new1": 2} {
		if got := w.offset(token, id); got != want {
			t.Errorf("%s has %d bytes, want %d", id, got, want)
		}
	}
	w.uploads.end(uploadName(who, "written"))
	if _, _, err := w.upload(others); err != nil {
		t.Error("another group's upload gave way")
	}
}

// An upload that was refused had one of the group's four places for ten minutes, also if
// none of its bytes was taken.
func TestARefusedUploadKeepsNoPlace(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	new := func(id, body string, header ...string) answered {
		t.Helper()
		return w.ask("PUT", "/api/files/"+id, token, strings.NewReader(body), append([]string{"Upload-Length", "5", "Upload-SHA256", sumOf("hello")}, header...)...)
	}
	for i := range 2 * maxUploads {
		if got := new(fmt.Sprint("ahead", i), "lo", "Upload-Offset", "3"); got.http != 409 || got.Error.Code != "wrong_offset" {
			t.Errorf("a new upload that does not begin at 0: %d %s", got.http, got.body)
		}
		if got := new(fmt.Sprint("long", i), "hello and more"); got.http != 400 {
			t.Errorf("an upload of too many bytes: %d %s", got.http, got.body)
		}
	}
	var places []*intake.Body
	for range intake.MaxBodies {
		places = append(places, w.bodies.Begin("a"))
	}
	for i := range 2 * maxUploads {
		if got := new(fmt.Sprint("busy", i), "hello"); got.http != 429 {
			t.Errorf("while the group's bodies come: %d %s", got.http, got.body)
		}
	}
	for _, p := range places {
		p.End()
	}
	for _, id := range []string{"ahead0", "busy0"} {
		if n := w.offset(token, id); n != -1 {
			t.Errorf("of %s %d bytes are kept", id, n)
		}
	}
	for i := range maxUploads {
		if got := new(fmt.Sprint("good", i), "he"); got.http != 200 {
			t.Errorf("the next upload: %d %s", got.http, got.body)
		}
	}
}

// TestAnUploadThatGaveWayBeginsAgain: its client, which goes on where it was, asks how far it is and
// writes it from the start.
func TestAnUploadThatGaveWayBeginsAgain(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	w.cut(token, "film", "hello", 0, 3)
	if way, err := w.giveWay(t.Context(), "a"); way || err != nil {
		t.Errorf("it gives way at once: %v", err)
	}
	past := time.Now().Add(-2 * uploadIdle)
	if err := os.Chtimes(w.partOf(uploadName(tokens.Identity{Folder: "a"}, "film")), past, past); err != nil {
		t.Fatal(err)
	}
	if way, err := w.giveWay(t.Context(), "a"); !way || err != nil {
		t.Errorf("it does not give way: %v", err)
	}
	if got := w.put(token, "film", "hello", 3); got.http != 409 || got.Error.Code != "wrong_offset" || w.offset(token, "film") != -1 {
		t.Errorf("it goes on: %d %s", got.http, got.body)
	}
	if got := w.put(token, "film", "hello", 0); got.http != 200 || !strings.Contains(got.body, `"whole":true`) {
		t.Errorf("%d %s", got.http, got.body)
	}
}
