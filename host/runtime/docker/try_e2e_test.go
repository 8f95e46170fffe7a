//go:build e2e

package docker_test

import (
	"testing"

	"github.com/moby/moby/client"
)

// TestATryLeavesNothing: the engine of the tests starts containers, and has as many after a
// try as before.
func TestATryLeavesNothing(t *testing.T) {
	w := newWorld(t)
	count := func() int {
		all, err := engineAPI(t).ContainerList(t.Context(), client.ContainerListOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		return len(all.Items)
	}
	before := count()
	if err := w.runtime.Engine.Try(t.Context(), w.runtime.Image); err != nil {
		t.Error(err)
	}
	if after := count(); after != before {
		t.Errorf("%d containers became %d", before, after)
	}
}
