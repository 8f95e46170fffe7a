//go:build e2e

package docker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// TestNoMountHoldsAnEnginesSocket: not that of the engine in use, and of no
// other one that this machine may have either.
func TestNoMountHoldsAnEnginesSocket(t *testing.T) {
	_, host := containertest.Engine(t)
	dir := realTemp(t)
	places := map[string]string{ // of sockets; nothing listens at the others yet
		"in use": filepath.Dir(strings.TrimPrefix(host, "unix://")),
		"podman": filepath.Join(dir, "podman"), "context": filepath.Join(dir, "other"), "user": filepath.Join(dir, "user"),
	}
	meta := filepath.Join(dir, "config/contexts/meta", contextID("other"))
	for _, made := range []string{places["podman"], places["context"], places["user"], meta, filepath.Join(dir, "free")} {
		if err := os.MkdirAll(made, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	context := fmt.Appendf(nil, `{"Name": "other", "Endpoints": {"docker": {"Host": "unix://%s/docker.sock"}}}`, places["context"])
	if err := os.WriteFile(filepath.Join(meta, "meta.json"), context, 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := docker.Connect(t.Context(), func(name string) string {
		return map[string]string{
			"DOCKER_HOST": host, "CONTAINER_HOST": "unix://" + places["podman"] + "/p.sock",
			"DOCKER_CONFIG": filepath.Join(dir, "config"), "XDG_RUNTIME_DIR": places["user"],
		}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	for name, place := range places {
		err := engine.Access([]mounts.Mount{{Container: "/workspace/extra/x", Host: place, ReadOnly: true}})
		if err == nil || !strings.Contains(err.Error(), "mount /workspace/extra/x: "+place+" holds "+place) {
			t.Errorf("%s: %v, want that %s holds a socket", name, err, place)
		}
	}
	if err := engine.Access([]mounts.Mount{{Container: "/workspace/extra/x", Host: filepath.Join(dir, "free"), ReadOnly: true}}); err != nil {
		t.Errorf("a directory without one: %v", err)
	}
}

// contextID is the directory in which the docker command keeps a context.
func contextID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
