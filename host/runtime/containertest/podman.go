package containertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
)

// engineVariable names the kind of engine that tests start and use, even if
// another one answers: podman, or empty.
const engineVariable = "LONGSHORE_TEST_ENGINE"

// lacking is how the reason of [unavailable] begins.
const lacking = "this machine cannot run a container: "

func podmanWanted() bool { return os.Getenv(engineVariable) == "podman" }

// OnPodman runs tests of the same package once more, on Podman. They run in
// another process, because each process has one engine. If Podman starts no container
// here, they are skipped there, and so is this test.
func OnPodman(t *testing.T, tests ...string) {
	t.Helper()
	if podmanWanted() {
		t.Skip("starts other tests on Podman; this process is already on Podman")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Env = append(os.Environ(), engineVariable+"=podman")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("on Podman: %v\n%s", err, said)
		return
	}
	if _, reason, skipped := strings.Cut(string(said), lacking); skipped {
		need.Lacking(t, "run a container on Podman: %s", strings.SplitN(reason, "\n", 2)[0])
	}
	for _, name := range tests {
		if !strings.Contains(string(said), "--- PASS: "+name+" ") {
			t.Errorf("%s did not run on Podman:\n%s", name, said)
		}
	}
}
