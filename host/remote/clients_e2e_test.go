//go:build e2e

package remote

import (
	"embed"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

//go:embed testdata/clients
var typeScript embed.FS

// TestTheTypeScriptClientsGoOnAfterCallsThatTheyGaveUp, each of the SDK's two.
func TestTheTypeScriptClientsGoOnAfterCallsThatTheyGaveUp(t *testing.T) {
	modules := npmtest.Modules(t, typeScript, "testdata/clients")
	program, err := filepath.Abs("testdata/clients/cancel.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1", "2"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t)
			w.hold(true)
			out, err := exec.CommandContext(t.Context(), "node", program, modules, version, w.url+mcpPath, w.token("a", "")).CombinedOutput()
			if err != nil || string(out) != "given up\ngiven up\ngoes on\n" {
				t.Errorf("%v: %s", err, out)
			}
			w.hold(false)
		})
	}
}
