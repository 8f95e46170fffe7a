//go:build e2e

package remote

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestKilledUploadsGoOn: agentrunner is killed in the middle, and then the host. The next
// call of the same file goes on where the upload stopped, and is sent once.
func TestKilledUploadsGoOn(t *testing.T) {
	r := newElsewhere(t)
	a := newRunner(r)
	content := strings.Repeat("fedcba9876543210", 1<<16)
	half := newNarrow(t, strings.TrimPrefix(r.url, "http://"), 1<<19, 0, 0, 0, 0, 0, 0, 0, 0)
	cmd := a.run("send", "ship.txt")
	cmd.Env = append(cmd.Env, "LONGSHORE_URL=http://"+half.Addr().String())
	if err := os.WriteFile(filepath.Join(cmd.Dir, "ship.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-half.broken
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	id := fmt.Sprintf("content-%x", sha256.Sum256([]byte(content)))
	a.offset(id) // what the host has not read yet ends with it
	r.kill()
	r.start()
	at := a.offset(id)
	if at == 0 || at >= len(content) {
		t.Fatalf("the host has %d of %d bytes", at, len(content))
	}
	rest := newNarrow(t, strings.TrimPrefix(r.url, "http://"), int64(len(content)-at)) // too narrow for the whole file
	again := a.run("send", "--json", "--wait", "60s", "ship.txt")
	again.Env = append(again.Env, "LONGSHORE_URL=http://"+rest.Addr().String())
	out, err := again.Output()
	var told sender.Report
	if json.Unmarshal(out, &told) != nil || told.Status != string(ipc.Sent) || told.Files[0].SHA256 != strings.TrimPrefix(id, "content-") {
		t.Fatalf("%v: %s", err, out)
	}
	if shown := r.receiver.Shown(t, "push:desk", 1); len(shown) != 1 {
		t.Errorf("%d messages are in the chat", len(shown))
	}
}

// offset is how far an upload is.
func (a byRunner) offset(id string) (n int) {
	a.t.Helper()
	stage.Eventually(a.t, "the host has what came", func() bool {
		r, err := http.NewRequestWithContext(a.t.Context(), http.MethodHead, a.url+"/api/files/"+id, nil)
		if err != nil {
			a.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+a.secret)
		r.Close = true
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			a.t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = fmt.Sscan(res.Header.Get("Upload-Offset"), &n)
		return n > 0
	})
	return n
}
