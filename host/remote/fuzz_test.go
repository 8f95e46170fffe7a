package remote

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
)

// FuzzFields: what is taken is an object of known texts, each once, as any reader of JSON
// sees it.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{"path":"/a"}`, `{"path":"/a","path":"/b"}`, `{"path":{}}`, `[]`, `{"path":"\u0000"}`, `{"path":"a"}}`, `{"buffer":"aGVsbG8="`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := parseFields(b)
		if err != nil {
			return
		}
		var want map[string]string
		if err := json.Unmarshal(b, &want); err != nil || len(want) != len(fields) {
			t.Fatalf("%q: %v, %v", b, fields, err)
		}
		for key, value := range fields {
			if want[key] != value {
				t.Errorf("%q: %q is %q, want %q", b, key, value, want[key])
			}
		}
	})
}

// FuzzForm: a form has at most one file, at its end, and takes no more room than it has bytes.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nabc\r\n--x--\r\n",
		"--x\r\nContent-Disposition: form-data; name=\"alt\"\r\n\r\nabc\r\n--x--\r\n", "--x--", "",
		"--x\r\nContent-Disposition: form-data; name=\"file\"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=\r\n--x--\r\n",
	} {
		f.Add([]byte(seed))
	}
	tmp := f.TempDir()
	d := &Server{bodies: intake.NewBodies(&settings{quota: 1 << 20}, diskFunc(plenty))}
	f.Fuzz(func(t *testing.T, b []byte) {
		place := d.bodies.Begin("a")
		c, err := readForm(intake.DefaultLimits(), httpd.Form(bytes.NewReader(b), "x"), tmp, place, 1<<20)
		if _, _, n := d.bodies.Counts("a"); n > int64(len(b)) {
			t.Errorf("%d bytes of %d", n, len(b))
		}
		if err == nil {
			_ = c.content()
		}
		c.close()
		place.End()
		if left, _ := os.ReadDir(tmp); len(left) > 0 {
			t.Error("something is left", left)
		}
		if open, _, n := d.bodies.Counts("a"); open > 0 || n > 0 {
			t.Errorf("%d bodies and %d bytes are left", open, n)
		}
	})
}

// FuzzHeaders: whatever a stranger's headers say, the answer is a refusal.
func FuzzHeaders(f *testing.F) {
	w := newWorld(f)
	token := w.token("a", "")
	f.Add("Bearer x", "127.0.0.1", "k", "/api/chat")
	f.Add("bearer lsh_0_0", "evil", "", "/mcp")
	f.Add(strings.Repeat("x", 5000), "[::1]:1", "\x00", "/api/deliveries/../..")
	f.Fuzz(func(t *testing.T, authorization, host, key, path string) {
		if strings.Contains(authorization, token) {
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Host, r.URL.Path = host, path
		r.Header["Authorization"], r.Header["Idempotency-Key"] = []string{authorization}, []string{key}
		rw := httptest.NewRecorder()
		w.ServeHTTP(rw, r)
		if rw.Code != 401 && rw.Code != 421 {
			t.Errorf("%q %q %q: %d", authorization, host, path, rw.Code)
		}
		if key, err := keyOf(r, map[string]string{}); err == nil && (key == "" || len(key) > maxKey) {
			t.Errorf("took the key %q", key)
		}
	})
}

// FuzzUpload: whatever an upload's headers and id say, it is taken or refused, and nothing lies
// beside the uploads.
func FuzzUpload(f *testing.F) {
	w := newWorld(f)
	token := w.token("a", "")
	f.Add("x", "1", "00", "0", "a")
	f.Add("../../x", "-1", strings.Repeat("0", 64), "9223372036854775808", "")
	f.Add("x", "9223372036854775807", sumOf("a"), "", "a")
	f.Fuzz(func(t *testing.T, id, length, sum, offset, body string) {
		r := httptest.NewRequest("PUT", "/", strings.NewReader(body))
		r.Host, r.URL.Path = "127.0.0.1", "/api/files/"+id
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Upload-Length": length, "Upload-Sha256": sum, "Upload-Offset": offset} {
			r.Header[name] = []string{value}
		}
		rw := httptest.NewRecorder()
		w.ServeHTTP(rw, r)
		if rw.Code >= 500 {
			t.Errorf("%d %s", rw.Code, rw.Body)
		}
		in, err := os.ReadDir(w.Dir)
		if err != nil || len(in) > 8 {
			t.Error(in, err)
		}
	})
}
