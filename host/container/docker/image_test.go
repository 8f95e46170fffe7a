package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/container/containertest"
	"github.com/longshore-bridge/longshore/host/container/docker"
)

// TestImageHoldsItsAgent asks the CLIs in their images for their versions,
// which must be the ones that Dockerfile.agent pins.
func TestImageHoldsItsAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the agents' CLIs")
	}
	for _, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) {
			w := newWorld(t)
			w.runtime.Image = containertest.AgentImage(t, agent)
			w.runtime.Memory = 1 << 30
			answer := w.ask(agent + " --version; agentrunner version >/dev/null && echo runner; command -v npm; find / -xdev -name ca.crt 2>/dev/null; id -un")
			if want := pinned(t, agent); !strings.Contains(answer, want) || !strings.HasSuffix(answer, "runner|agent|") {
				t.Errorf("inside: %s; want version %s, agentrunner, and nothing of the build", answer, want)
			}
		})
	}
}

func pinned(t *testing.T, agent string) string {
	t.Helper()
	_, rest, _ := strings.Cut(string(docker.Dockerfile()), "ARG "+strings.ToUpper(agent)+"_VERSION=")
	version, _, ok := strings.Cut(rest, "\n")
	if !ok {
		t.Fatalf("Dockerfile.agent pins no version of %s", agent)
	}
	return version
}

// TestBuildRefusesWhatCannotRun names programs that the image could not start.
func TestBuildRefusesWhatCannotRun(t *testing.T) {
	engine, _ := containertest.Engine(t)
	script := filepath.Join(t.TempDir(), "agentrunner")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{script: "GOOS=linux", "/bin/sh": "CGO_ENABLED=0", "/nowhere": "no such file"} {
		_, err := engine.Build(t.Context(), docker.BuildOptions{Tag: "longshore-test/never", Runner: name})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("build with %s: %v, want %q", name, err, want)
		}
	}
}
