//go:build e2e

package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
)

// TestARelease builds one twice, since whoever builds it again must get the bytes that the
// signature is for, and then tries what it consists of.
func TestARelease(t *testing.T) {
	needs(t, "ssh-keygen", "-t", "ed25519", "-N", "", "-f", filepath.Join(t.TempDir(), "key"))
	needs(t, "dpkg-deb", "--version")
	dir := t.TempDir()
	key, other := filepath.Join(dir, "key"), filepath.Join(dir, "another", "tree")
	sh(t, nil, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"agentrunner", "groups", "host", "internal", "ipc", "media", "packaging", "go.mod", "go.sum", "LICENSE", "NOTICE", "Dockerfile.agent"} {
		sh(t, nil, "cp", "-r", filepath.Join("../..", part), other)
	}
	env := []string{"PLATFORMS=" + runtime.GOOS + "/" + runtime.GOARCH, "VERSION=v0.0.1", "SOURCE_DATE_EPOCH=1700000000", "LONGSHORE_SIGN_KEY=" + key}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	sh(t, append(env, "DIST="+first), "../dist")
	sh(t, append(env, "DIST="+second), filepath.Join(other, "packaging/dist"))
	one, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(filepath.Join(second, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	if string(one) != string(two) {
		t.Errorf("two builds differ:\n%s\n%s", one, two)
	}
	sh(t, nil, "sh", "-c", "cd "+first+" && sha256sum -c --quiet SHA256SUMS && ssh-keygen -q -Y check-novalidate -n file -s SHA256SUMS.sig <SHA256SUMS")
	name := filepath.Join(first, "longshore-"+runtime.GOOS+"-"+runtime.GOARCH)
	listsEveryModule(t, name+".cdx.json")
	t.Run("lintian finds nothing", func(t *testing.T) { lintian(t, name+".deb") })
	t.Run("package on a clean Debian", func(t *testing.T) { tryPackage(t, name+".deb") })
	t.Run("image", func(t *testing.T) { tryImage(t, name+".image.tar.gz") })
}

// needs skips the test, or fails it, if a program does not run.
func needs(t *testing.T, program string, args ...string) {
	t.Helper()
	if said, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		need.Lacking(t, "run %s: %v %s", program, err, said)
	}
}

// lintian is Debian's own check of a package. What it may find is in the package's
// overrides, with the reason.
func lintian(t *testing.T, deb string) {
	needs(t, "lintian", "--version")
	cmd := exec.CommandContext(t.Context(), "lintian", "--allow-root", "--fail-on", "error,warning", deb)
	if said, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(said), "longshore: ") {
		t.Errorf("%v\n%s", err, said)
	}
}

// listsEveryModule compares the SBOM of the host with what the go command links.
func listsEveryModule(t *testing.T, sbom string) {
	t.Helper()
	text, err := os.ReadFile(sbom)
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, c := range bom.Components {
		if c.Name != "std" {
			got[c.Name+" "+c.Version] = true
		}
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-buildvcs=false", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "../../host")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		want[strings.TrimSpace(line)] = true
	}
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("the SBOM has %v, the program %v", got, want)
	}
}

func sh(t *testing.T, env []string, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, said)
	}
}
