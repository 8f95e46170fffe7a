package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The host of another machine had the call in its queue, and died. The caller was told to wait for a week.
func TestACallThatADeadHostHadWasSaidToWait(t *testing.T) {
	w := newWorld(t)
	token := w.token("a", "")
	w.hold(true)
	send := func() answered {
		return w.ask("POST", "/api/send-media?wait=0s", token, strings.NewReader(`{"path":"/workspace/group/a"}`), "Idempotency-Key", "k", "Content-Type", "application/json")
	}
	had := send()
	if got := w.ask("GET", "/api/deliveries/"+had.ID, token, nil); got.http != 202 {
		t.Errorf("a call that waits: %d %s", got.http, got.body)
	}
	if err := os.Remove(filepath.Join(w.dir, "ipc", "a", "messages", had.ID+".json")); err != nil { // which another machine has not
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "ipc", "a", "results")); err != nil {
		t.Fatal(err)
	}
	if got := w.ask("GET", "/api/deliveries/"+had.ID, token, nil); got.http != 410 || got.Error.Code != "call_lost" {
		t.Errorf("a call that is nowhere: %d %s", got.http, got.body)
	}
	w.hold(false)
	if again := send(); again.ID != had.ID {
		t.Errorf("the same call again: %+v", again)
	}
	w.unlinked("a", had.ID)
	if all := w.all(); len(all) != 1 {
		t.Errorf("sent %d times", len(all))
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "ipc", "a", "results")); err != nil {
		t.Fatal(err)
	}
	if got := w.ask("GET", "/api/deliveries/"+had.ID, token, nil); got.http != 202 {
		t.Errorf("a call that the outbox has: %d %s", got.http, got.body)
	}
}
