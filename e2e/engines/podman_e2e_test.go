//go:build e2e

package engines

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestWholeTurnOnPodman has Podman build the image and run the assistants of
// a host, from the member's message to the file that arrives.
func TestWholeTurnOnPodman(t *testing.T) {
	containertest.OnPodman(t, "TestImageBuildCommand", "TestFileLeavesContainer", "TestKilledHostsContainersAreEnded")
}
