package spool

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/ipc"
)

// TestRequestsOfABackupWaitForTheOperator: the old host may have carried them since.
func TestRequestsOfABackupWaitForTheOperator(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"errors", "family/messages", "family/files", "work/messages"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		"family/messages/a.json": "a", "family/files/b.json": "b", "work/messages/c.json": "c", "work/messages/.d.json": "half",
	} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n, err := HoldRequests(dir, ipc.Refusal{Code: "restored", Message: "it waited"})
	if n != 3 || err != nil {
		t.Errorf("%d held, %v", n, err)
	}
	all, err := ListErrors(dir)
	if err != nil || len(all) != 3 || all[0].Code != "restored" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := RetryError(dir, "work-c"); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]bool{"family/messages/a.json": false, "family/files/b.json": false, "work/messages/c.json": true, "work/messages/.d.json": true} {
		if _, err := os.Stat(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n, err := HoldRequests(filepath.Join(dir, "none"), ipc.Refusal{}); n != 0 || err != nil {
		t.Errorf("without a queue: %d, %v", n, err)
	}
}
