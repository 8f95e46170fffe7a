package outbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/host/outbox"
)

// blobs lists the files that the outbox keeps.
func blobs(t testing.TB, o *outbox.Outbox) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(o.Dir(), "files"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
