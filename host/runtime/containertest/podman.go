package containertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// engineVariable names the kind of engine that tests start and use, even if
// another one answers: podman, or empty.
const engineVariable = "LONGSHORE_TEST_ENGINE"

func podmanWanted() bool { return os.Getenv(engineVariable) == "podman" }

// OnPodman runs tests of the same package once more, on Podman. They run in
// another process, because each process has one engine.
func OnPodman(t *testing.T, tests ...string) {
	t.Helper()
	if podmanWanted() {
		t.Skip("starts other tests on Podman; this process is already on Podman")
	}
	if _, err := exec.LookPath("podman"); err != nil {
		unavailable(t, err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Env = append(os.Environ(), engineVariable+"=podman")
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("on Podman: %v\n%s", err, said)
		return
	}
	for _, name := range tests {
		if !strings.Contains(string(said), "--- PASS: "+name+" ") {
			t.Errorf("%s did not run on Podman:\n%s", name, said)
		}
	}
}
