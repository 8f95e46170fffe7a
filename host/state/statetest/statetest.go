// Package statetest opens states for tests.
package statetest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Open opens the state in dir, and closes it when the test ends, if the test has not.
func Open(t testing.TB, dir string) *state.DB {
	t.Helper()
	d, _ := Start(t, dir)
	return d
}

// Start is Open for a test that closes the state before it ends, such as to open it again.
func Start(t testing.TB, dir string) (d *state.DB, end func()) {
	t.Helper()
	d, err := state.Open(context.WithoutCancel(t.Context()), dir, store.Home{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := d.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return d, end
}
