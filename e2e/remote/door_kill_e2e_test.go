//go:build e2e

package remote

import (
	"encoding/json"
	"errors"
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
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

// watched is a line to the door at which one call of a kind is waited for, once.
type watched struct {
	*httptest.Server
	method, path string
	after        bool   // the host has answered; otherwise it has not heard of it
	then         func() // is run in that moment; the call gets no answer
	once         sync.Once
	transport    *http.Transport
}

var errCut = errors.New("the line is cut here")

func newWatched(t *testing.T, to, method, path string, after bool, then func()) *watched {
	t.Helper()
	w := &watched{method: method, path: path, after: after, then: then, transport: &http.Transport{DisableKeepAlives: true}}
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: w.transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
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
// killed at chosen steps of an upload and a send; at random ones by make kills. agentrunner
// goes on by itself if the host was killed; a killed one is called again with its key. Each
// file is in the chat once.
func TestKilledAtEachStepOverHTTPNothingIsLostAndNothingIsTwice(t *testing.T) {
	r := newElsewhere(t)
	a := newRunner(r)
	var chosen []killStep
	for _, victim := range []string{"host", "agentrunner"} {
		for _, call := range [][2]string{{"HEAD", "/api/files/"}, {"PUT", "/api/files/"}, {"POST", "/api/requests"}, {"GET", "/api/deliveries/"}} {
			for _, after := range []bool{false, true} {
				chosen = append(chosen, killStep{victim: victim, method: call[0], path: call[1], after: after})
			}
		}
	}
	uploads, left := filepath.Join(r.layout.State, "remote/uploads"), 0
	for i, s := range stepsToKillAt(t, chosen) {
		t.Run(s.String(), func(t *testing.T) { a.killed(t, s, i+1) })
		now, err := os.ReadDir(uploads)
		if err != nil || s.victim == "host" && len(now) > left {
			t.Errorf("%s: %d uploads are left, before it %d, %v", s, len(now), left, err)
		}
		left = len(now) // a killed agentrunner leaves those that nobody sends, for a day
	}
	if parts, err := os.ReadDir(filepath.Join(r.layout.State, "remote/tmp")); err != nil || len(parts) > 0 {
		t.Errorf("remote/tmp holds %v, %v", parts, err)
	}
}

// killed sends a file, which is the chat's nth, and kills the victim in the step.
func (a byRunner) killed(t *testing.T, s killStep, nth int) {
	var cmd *exec.Cmd
	killed := false
	line := newWatched(t, a.url, s.method, s.path, s.after, func() {
		if killed = true; s.victim == "agentrunner" {
			_ = cmd.Process.Kill()
			return
		}
		a.kill()
		a.start()
	})
	name := s.String()
	content := s.content("ship.txt")
	cmd = a.run("send", "--json", "--key", name, "--wait", "60s", "ship.txt")
	cmd.Env = append(cmd.Env, "LONGSHORE_URL="+line.URL)
	if err := os.WriteFile(filepath.Join(cmd.Dir, "ship.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if !killed {
		t.Fatalf("nothing was killed: %v: %s", err, out)
	}
	if s.victim == "agentrunner" {
		if cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("agentrunner was to be killed, but ended: %v: %s", err, out)
		}
		out, err = a.run("send", "--json", "--key", name, "--wait", "60s", "ship.txt").Output()
	}
	var told sender.Report
	if json.Unmarshal(out, &told) != nil || told.Status != string(ipc.Sent) {
		t.Fatalf("%v: %s", err, out)
	}
	all := a.receiver.Shown(t, "push:desk", nth)
	if len(all) != nth {
		t.Fatalf("%d messages are in the chat, want %d", len(all), nth)
	}
	if last := all[nth-1]; len(last.Files) != 1 || last.Files[0].SHA256 != stage.Digest([]byte(content)) {
		t.Errorf("in the chat: %+v", last)
	}
}
