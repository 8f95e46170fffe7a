package serve

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestADeletedLockLetASecondHostStartUnseen: each file that the host holds is taken away while
// it runs, and brought back.
func TestADeletedLockLetASecondHostStartUnseen(t *testing.T) {
	b := newBoundary(t, nil)
	health := b.host.Local(true).Health()
	status := func() (int, string) {
		w := httptest.NewRecorder()
		health.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return w.Code, w.Body.String()
	}
	all := b.host.held()
	all = slices.DeleteFunc(all, func(path string) bool { // the channels of this test have no stores
		_, err := os.Stat(path)
		return err != nil
	})
	if len(all) < 3 { // the lock and the database of the state; the id
		t.Fatalf("the host holds %q", all)
	}
	for _, path := range all {
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if code, words := status(); code != http.StatusServiceUnavailable || !strings.Contains(words, "while the host runs") {
			t.Errorf("without %s: %d %s", path, code, words)
		}
		if err := b.host.Bridge.Room("family"); err == nil {
			t.Errorf("without %s an answer is accepted", path)
		}
		if _, err := b.host.Bridge.SendFor(t.Context(), "family", ipc.Request{Type: ipc.TypeMessage, Text: "x"}, nil); err == nil || !strings.Contains(err.Error(), "deleted or replaced") {
			t.Errorf("without %s a file is accepted: %v", path, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		if code, words := status(); code != http.StatusOK {
			t.Errorf("with %s: %d %s", path, code, words)
		}
	}
}
