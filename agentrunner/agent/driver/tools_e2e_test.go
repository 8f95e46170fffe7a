//go:build e2e

package driver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/ipc"
)

// door is as much of a host's door as one file needs. It takes the token while valid is
// set.
type door struct {
	*httptest.Server
	valid atomic.Bool
	sent  atomic.Int32
}

const doorToken = "lsh_0123456789abcdef_right"

func newDoor(t *testing.T) *door {
	t.Helper()
	d := &door{}
	d.valid.Store(true)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // a client that is gone has nothing to be told
	}
	mux.HandleFunc("GET /api/chat", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, fakehost.Context()) })
	mux.HandleFunc("PUT /api/files/{id}", func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		w.Header().Set("Upload-Offset", fmt.Sprint(n))
		answer(w, 200, map[string]any{})
	})
	mux.HandleFunc("POST /api/requests", func(w http.ResponseWriter, _ *http.Request) {
		d.sent.Add(1)
		answer(w, 200, ipc.Result{ID: "d-1", Status: ipc.Sent})
	})
	mux.HandleFunc("GET /api/deliveries/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, ipc.Result{ID: r.PathValue("id"), Status: ipc.Sent})
	})
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.valid.Load() || r.Header.Get("Authorization") != "Bearer "+doorToken {
			answer(w, 401, map[string]any{"error": map[string]string{"code": "no_token", "message": "this needs a token that counts"}})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// turnOver is a turn whose tools reach a door. It must leave nothing in the directory of
// temporary files, and the token nowhere in the assistant's home.
func (w *world) turnOver(t *testing.T, url, token string, more ...string) error {
	t.Helper()
	temp := t.TempDir()
	reply, err := w.turn(t.Context(), "the tide table, please", "", append([]string{"LONGSHORE_URL=" + url, "LONGSHORE_TOKEN=" + token, "TMPDIR=" + temp}, more...)...)
	if left, globErr := filepath.Glob(filepath.Join(temp, "longshore-*")); globErr != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, globErr)
	}
	if err == nil && !strings.Contains(reply.Text, "Sent a.pdf") {
		t.Errorf("reply %+v", reply)
	}
	return err
}

// TestRealCLIWithoutOurToolsFailsTheTurn: by itself, each CLI would go on without them and
// end as if all were well.
func TestRealCLIWithoutOurToolsFailsTheTurn(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w, d := newWorld(t, cli, modeltest.SendFile("a.pdf", "Ahoy.")), newDoor(t)
		w.host.File("group/a.pdf", "%PDF-1.4")
		t.Run("right token", func(t *testing.T) {
			if err := w.turnOver(t, d.URL, doorToken); err != nil || d.sent.Load() != 1 {
				t.Fatalf("%d files were sent, %v", d.sent.Load(), err)
			}
		})
		t.Run("wrong token", func(t *testing.T) {
			err := w.turnOver(t, d.URL, doorToken+"x")
			if cause.Of(err) != cause.Tools || d.sent.Load() != 1 {
				t.Fatalf("%d files were sent, cause %q: %v", d.sent.Load(), cause.Of(err), err)
			}
			if words := err.Error(); !strings.Contains(words, "this needs a token that counts") || !strings.Contains(words, "longshore tokens new") || strings.Contains(words, doorToken) {
				t.Errorf("the turn says %v", err)
			}
		})
		t.Run("tools that do not start", func(t *testing.T) {
			w := newWorldWith(t, cli, modeltest.SendFile("a.pdf", "Ahoy."), []string{"/bin/false"})
			err := w.turnOver(t, d.URL, doorToken)
			if cause.Of(err) != cause.Tools || !strings.Contains(err.Error(), "without Longshore's tools") {
				t.Errorf("cause %q: %v", cause.Of(err), err)
			}
		})
	})
}

// What the CLI does makes no difference here, so the fastest one is enough.
func TestRealCodexFailsTheTurnWhoseDoorIsNone(t *testing.T) {
	w, d := newWorld(t, "codex", modeltest.SendFile("a.pdf", "Ahoy.")), newDoor(t)
	w.host.File("group/a.pdf", "%PDF-1.4")
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	if err := w.turnOver(t, elsewhere.URL, doorToken); cause.Of(err) != cause.Tools || !strings.Contains(err.Error(), "not Longshore's remote server") || !strings.Contains(err.Error(), "remote.listen") {
		t.Errorf("cause %q: %v", cause.Of(err), err)
	}
	if err := w.turnOver(t, d.URL, ""); err == nil || !strings.Contains(err.Error(), "LONGSHORE_TOKEN") || !strings.Contains(err.Error(), "longshore tokens new") {
		t.Errorf("without a token: %v", err)
	}
	w.model.Script(func(r modeltest.Request) modeltest.Answer {
		d.valid.Store(false) // revoked in the turn
		return modeltest.SendFile("a.pdf", "Ahoy.")(r)
	})
	if err := w.turnOver(t, d.URL, doorToken); cause.Of(err) != cause.Tools || !strings.Contains(err.Error(), "token that counts") || d.sent.Load() > 0 {
		t.Errorf("%d files were sent, cause %q: %v", d.sent.Load(), cause.Of(err), err)
	}
}
