package modeltest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/need"
)

// distribution is where an agent CLI comes from.
type distribution struct {
	pkg, version string
	program      string // below node_modules; of a library its package.json
}

// distributions pins the versions that the drivers were measured with. Claude
// Code comes as its platform's own package, and opencode is started from it,
// since the general ones leave the choice to an install script.
func distributions() map[string]distribution {
	arch := strings.ReplaceAll(runtime.GOARCH, "amd64", "x64")
	claude := "@anthropic-ai/claude-code-linux-" + arch
	return map[string]distribution{
		"claude":   {claude, "2.1.329", claude + "/claude"},
		"codex":    {"@openai/codex", "0.169.0", ".bin/codex"},
		"gemini":   {"@google/gemini-cli", "0.61.0", ".bin/gemini"},
		"opencode": {"opencode-ai", "1.18.33", "opencode-linux-" + arch + "/bin/opencode"},
		// Not an agent: the client that holds every answer against its schema, and
		// what a server that ours is measured against is made of.
		"mcp-sdk":       {"@modelcontextprotocol/sdk", "1.32.2", "@modelcontextprotocol/sdk/package.json"},
		"mcp-inspector": {"@modelcontextprotocol/inspector", "0.17.2", ".bin/mcp-inspector"},
	}
}

// Install returns the program of an agent CLI, installed by npm at a pinned
// version into LONGSHORE_NPM or the user's cache directory, where it stays for
// the next run (100 to 400 MB each). If that is not possible, the test lacks it.
func Install(t testing.TB, cli string) string {
	t.Helper()
	d, ok := distributions()[cli]
	if !ok {
		t.Fatalf("there is no distribution of %q", cli)
	}
	program, err := d.install(t.Context(), cli)
	if err != nil {
		need.Lacking(t, "run %s: %v", cli, err)
	}
	return program
}

func (d distribution) install(ctx context.Context, cli string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("the tests know its packages for Linux only")
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, cli+"-"+d.version)
	program := filepath.Join(dir, "node_modules", d.program)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Tests of several packages may install at once: whoever is first, stays.
	temp, err := os.MkdirTemp(cache, ".install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "install", "--prefix", temp, "--no-audit", "--no-fund", "--ignore-scripts", d.pkg+"@"+d.version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s@%s: %w\n%s", d.pkg, d.version, err, out)
	}
	if err := os.Rename(temp, dir); err != nil && !exists(program) {
		return "", err
	}
	return program, nil
}

// Cache is the directory that Install installs into.
func Cache(t testing.TB) string {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func cacheDir() (string, error) {
	if dir := os.Getenv("LONGSHORE_NPM"); dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	return filepath.Join(user, "longshore-test"), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
