//go:build e2e

package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// TestImageHoldsItsAgent asks the CLIs in their images for their versions,
// which must be the ones that Dockerfile.agent pins.
func TestImageHoldsItsAgent(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
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

// TestFullImageMakesFiles makes one file of each kind with the tools that
// Dockerfile.agent installs for assistants, as the user and within the limits
// that an assistant has.
func TestFullImageMakesFiles(t *testing.T) {
	if os.Getenv("LONGSHORE_TEST_IMAGE") == "" {
		t.Skip("builds an image with every tool; set LONGSHORE_TEST_IMAGE to do so")
	}
	w := newWorld(t)
	w.runtime.Image, w.runtime.Memory = containertest.FullImage(t), 1<<30
	for _, tc := range []struct{ file, script, holds string }{
		{"docx", `printf '# Tides\n\nHigh at *six*.\n' | pandoc -f markdown -o "$f"`, "PK"},
		{"pdf", `printf '<h1>Tides</h1><p>High at six, %s</p>' 'é €' | weasyprint - "$f" && pdftotext "$f" - | grep -q Tides`, "%PDF-"},
		{"chart.png", `python3 -c "import matplotlib; matplotlib.use('Agg'); import matplotlib.pyplot as p, sys; p.plot([1, 3, 2]); p.title('Tides'); p.savefig(sys.argv[1])" "$f"`, "\x89PNG"},
		{"svg", `echo 'digraph { moon -> sea }' | dot -Tsvg -o "$f"`, "<svg"},
		{"jpg", `convert -size 80x40 xc:navy -fill white -annotate +5+25 Tides "$f"`, "\xff\xd8\xff"},
		{"xlsx", `python3 -c "import openpyxl, sys; b = openpyxl.Workbook(); b.active.append(['high', 6]); b.save(sys.argv[1])" "$f"`, "PK"},
		{"zip", `cd /tmp && echo '{"high": 6}' | jq . >t.json && rg -q high t.json && zip -q "$f" t.json && unzip -tq "$f" >/dev/null`, "PK"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			name := "made." + tc.file
			answer := w.ask("f=/workspace/group/" + name + "\n" + tc.script + " && echo made")
			made, err := os.ReadFile(filepath.Join(w.layout.Workspace("family"), name))
			if err != nil || answer != "made|" || !strings.Contains(string(made), tc.holds) {
				t.Errorf("%s: %v, %d bytes, said %s", name, err, len(made), answer)
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
