// Package statetest opens states for tests.
package statetest

import (
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Open opens the state in dir, and closes it when the test ends, if the test has not.
func Open(t testing.TB, dir string) *state.DB {
	t.Helper()
	d, err := state.Open(t.Context(), dir, store.Home{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return d
}
