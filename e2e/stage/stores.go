package stage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
)

// StoresConfig has every kind of store. WhatsApp is never connected to: no
// account is linked.
const StoresConfig = `
limits: {free_disk: 1MiB}
channels: {web: {listen: "127.0.0.1:0"}, whatsapp: {}}
groups:
  - {name: Family, folder: family, chat: "web:family", assistant: sample, gather: {after: 0s}}
assistants: {sample: {agent: sample}}
`

// NewStores makes an installation with all its stores, and bytes in them.
func NewStores(t *testing.T) (file string, cfg *config.Config) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "longshore.yaml")
	cfg = ConfigIn(t, file, StoresConfig)
	report := filepath.Join(t.TempDir(), "report.txt")
	Write(t, report, "All is well.")
	if out, code := Command(t, "-c", file, "send", report, "--group", "family"); code != ExitOK {
		t.Fatalf("send: %s", out)
	}
	for _, s := range serve.StoresOf(cfg, true) {
		lock, err := store.Lock(s)
		if err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(t.Context(), s)
		if err := errors.Join(err, lock.Close()); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	Write(t, filepath.Join(cfg.Layout().Own(), "blobs", strings.Repeat("ab", 16)), "a member's photo")
	return file, cfg
}

// BytesBelow are the contents of all files below a directory, by path; of
// files that say who works at present, the names alone.
func BytesBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if d.Type()&os.ModeSocket != 0 {
			data, err = nil, nil
		}
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// OwnerOf is serve.OwnerOf of the state in a directory.
func OwnerOf(state string) string {
	id, _ := os.ReadFile(filepath.Join(state, "installation", "id")) // without one, nothing is its own yet
	return strings.TrimSpace(string(id)) + " " + state
}
