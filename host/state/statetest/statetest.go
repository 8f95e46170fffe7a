// Package statetest opens states for tests.
package statetest

import (
	"log/slog"
	"testing"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Open opens the state in dir, and closes it when the test ends.
func Open(t testing.TB, dir string) *state.DB {
	t.Helper()
	d, err := state.Open(t.Context(), dir, store.Home{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
