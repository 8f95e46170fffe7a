package command

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// watched is a line to the door at which one call of a kind is waited for, once.
type watched struct {
	*httptest.Server
	method, path string
	after        bool   // the host has answered; otherwise it has not heard of it
	then         func() // is run in that moment; the call gets no answer
	once         sync.Once
}

var errCut = errors.New("the line is cut here")

func newWatched(t *testing.T, to, method, path string, after bool, then func()) *watched {
	t.Helper()
	w := &watched{method: method, path: path, after: after, then: then}
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(res *http.Response) error { return w.at(res.Request, true) },
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.at(r, false) != nil {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *watched) at(r *http.Request, after bool) (err error) {
	if r.Method == w.method && strings.HasPrefix(r.URL.Path, w.path) && after == w.after {
		w.once.Do(func() { w.then(); err = errCut })
	}
	return err
}

// TestKilledAtEachStepOverHTTPNothingIsLostAndNothingIsTwice: agentrunner, or the host, is
// killed at chosen steps of an upload and a send. agentrunner goes on by itself if the host
// was killed; a killed one is called again with its key. Each file is in the chat once.
func TestKilledAtEachStepOverHTTPNothingIsLostAndNothingIsTwice(t *testing.T) {
	r := newElsewhere(t)
	a := newRunner(r)
	empty := func(dir string) {
		t.Helper()
		if left, err := os.ReadDir(filepath.Join(r.layout.State, dir)); err != nil || len(left) > 0 {
			t.Errorf("%s holds %v, %v", dir, left, err)
		}
	}
	shown := 0
	for _, victim := range []string{"host", "agentrunner"} {
		for _, call := range []struct{ method, path string }{
			{"HEAD", "/api/files/"}, {"PUT", "/api/files/"}, {"POST", "/api/requests"}, {"GET", "/api/deliveries/"},
		} {
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("%s %s after %t", victim, call.method, after)
				t.Run(name, func(t *testing.T) {
					content := strings.Repeat(fmt.Sprintf("%064x", sha256.Sum256([]byte(name))), 1<<13) // 512 KiB: may be resumed
					var cmd *exec.Cmd
					killed := false
					line := newWatched(t, r.url, call.method, call.path, after, func() {
						if killed = true; victim == "agentrunner" {
							_ = cmd.Process.Kill()
							return
						}
						r.kill()
						r.start()
					})
					cmd = a.run("send", "--json", "--key", name, "--wait", "60s", "ship.txt")
					cmd.Env = append(cmd.Env, "LONGSHORE_URL="+line.URL)
					if err := os.WriteFile(filepath.Join(cmd.Dir, "ship.txt"), []byte(content), 0o600); err != nil {
						t.Fatal(err)
					}
					out, err := cmd.Output()
					if !killed {
						t.Fatalf("nothing was killed: %v: %s", err, out)
					}
					if victim == "agentrunner" {
						if cmd.ProcessState.ExitCode() != -1 {
							t.Fatalf("agentrunner was to be killed, but ended: %v: %s", err, out)
						}
						out, err = a.run("send", "--json", "--key", name, "--wait", "60s", "ship.txt").Output()
					}
					var told sender.Report
					if json.Unmarshal(out, &told) != nil || told.Status != string(ipc.Sent) {
						t.Fatalf("%v: %s", err, out)
					}
					shown++
					all := r.receiver.Shown(t, "push:desk", shown)
					if len(all) != shown {
						t.Fatalf("%d messages are in the chat, want %d", len(all), shown)
					}
					if last := all[shown-1]; len(last.Files) != 1 || last.Files[0].SHA256 != digest([]byte(content)) {
						t.Errorf("in the chat: %+v", last)
					}
				})
			}
		}
		if victim == "host" { // a killed agentrunner leaves uploads that nobody sends, for a day
			empty("door/uploads")
		}
	}
	empty("door/tmp")
}
