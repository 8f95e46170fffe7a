package remote

import (
	"context"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/longshore-bridge/longshore/ipc"
)

// waitFor waits until a group's queue holds a request, and returns its id.
func (w *world) waitFor(folder string) string {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if all, _ := filepath.Glob(filepath.Join(w.dir, "ipc", folder, ipc.MessagesDir, "*.json")); len(all) > 0 {
			return strings.TrimSuffix(filepath.Base(all[0]), ".json")
		}
		select {
		case <-tick.C:
		case <-w.t.Context().Done():
			w.t.Fatal("nothing was queued")
		}
	}
}

// TestAClientThatGaveUpACallGoesOn: the library answered the client's notice of it with 400,
// which ended the go-sdk's session for good.
func TestAClientThatGaveUpACallGoesOn(t *testing.T) {
	t.Parallel()
	content := base64.StdEncoding.EncodeToString([]byte("x"))
	args := func(name string) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "send_attachment", Arguments: map[string]any{"content_base64": content, "file_name": name}}
	}
	for name, end := range map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"cancelled": context.WithCancel,
		"timed out": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.dial(w.token("a", ""))
			w.hold(true)
			ctx, cancel := end(t.Context())
			defer cancel()
			if name == "cancelled" {
				go func() { w.waitFor("a"); cancel() }()
			}
			if _, err := s.CallTool(ctx, args("1.txt")); err == nil {
				t.Fatal("the call was not given up")
			}
			w.hold(false)
			if _, err := s.CallTool(t.Context(), args("2.txt")); err != nil {
				t.Fatalf("the next call: %v", err)
			}
		})
	}
}

func TestANotificationIsAcceptedWithoutABody(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`: http.StatusAccepted,
		`{"jsonrpc":"2.0","method":"notifications/of_the_future"}`:                      http.StatusAccepted,
		`{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}`:                http.StatusBadRequest,
		`{"jsonrpc":"2.0","method":"tools/list"}`:                                       http.StatusBadRequest,
	} {
		got := w.ask("POST", mcpPath, w.token("a", ""), strings.NewReader(body), "Content-Type", "application/json",
			"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28")
		if got.http != want || want == http.StatusAccepted && got.body != "" {
			t.Errorf("%s: %d %s", body, got.http, got.body)
		}
	}
}

func TestProgressIsToldOverHTTP(t *testing.T) {
	w := newWorld(t)
	w.hold(true)
	told := make(chan *mcp.ProgressNotificationParams, 1)
	token := w.token("a", "")
	s := w.dial(token, told)
	params := &mcp.CallToolParams{Name: "send_attachment", Arguments: map[string]any{"content_base64": "eA==", "file_name": "a"}}
	params.SetProgressToken("7")
	done := make(chan error, 1)
	go func() {
		_, err := s.CallTool(t.Context(), params)
		done <- err
	}()
	id := w.waitFor("a")
	eventually(t, func() bool { // the road has said why it waits; later it would say so in place of the progress
		return w.ask("GET", "/api/deliveries/"+id, token, nil).Code != ""
	})
	for _, sent := range []int64{1024, 2048} {
		if err := w.spool.WriteResult("a", ipc.Result{ID: id, Status: ipc.Queued, Channel: "mem", Progress: &ipc.Progress{Sent: sent, Total: 8192}}); err != nil {
			t.Fatal(err)
		}
		if p := <-told; p.ProgressToken != "7" || p.Progress != float64(sent) || p.Total != 8192 {
			t.Errorf("%+v", p)
		}
	}
	w.hold(false)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestACallWhoseConnectionIsClosedIsWithdrawn, as docs/remote.md says.
func TestACallWhoseConnectionIsClosedIsWithdrawn(t *testing.T) {
	w := newWorld(t)
	w.hold(true)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", w.url+mcpPath, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"send_message","arguments":{"text":"held"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + w.token("a", "")}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	done := make(chan error, 1)
	go func() {
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			err = answer.Body.Close()
		}
		done <- err
	}()
	id := w.waitFor("a")
	cancel()
	if err := <-done; err == nil {
		t.Fatal("the call was answered")
	}
	w.unlinked("a", id)
	w.hold(false)
	if all := w.all(); len(all) > 0 {
		t.Errorf("%+v was sent", all)
	}
}
