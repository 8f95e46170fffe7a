package containertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// baseName is the Debian image that test images are built from.
const baseName = "longshore-test/base:bookworm"

// buildTime limits the making of a base or an image.
const buildTime = 10 * time.Minute

// Base returns the name of an image with a small Debian.
func Base(t testing.TB) string {
	t.Helper()
	Engine(t)
	return baseName
}

// AgentImage returns the name of an image with this tree's agentrunner and the
// agent's CLI: claude, codex, gemini, opencode, or none. It has no document
// tools.
func AgentImage(t testing.TB, agent string) string {
	t.Helper()
	return image(t, agent, map[string]string{"AGENT": agent, "TOOLS": ""})
}

// FullImage returns the name of an image with the document tools that operators
// get, without an agent's CLI. The first build downloads some hundred
// megabytes.
func FullImage(t testing.TB) string {
	t.Helper()
	return image(t, "full", map[string]string{"AGENT": "none"})
}

func image(t testing.TB, name string, args map[string]string) string {
	t.Helper()
	args["BASE"] = Base(t)
	shared.images.Lock()
	defer shared.images.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), buildTime)
	defer cancel()
	runner := Runner(t)
	tag := "longshore-test/" + name + ":" + digest(runner)
	var said []string
	_, err := shared.engine.Build(ctx, docker.BuildOptions{
		Tag: tag, Runner: runner, CA: trusted(), Network: Network, Args: args,
		Progress: func(line string) { said = append(said, line) },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(said[max(0, len(said)-30):], "\n"))
	}
	return tag
}

// Runner builds this tree's agentrunner for the engine's machine and returns
// its path.
func Runner(t testing.TB) string {
	t.Helper()
	engine, _ := Engine(t)
	path := filepath.Join(t.TempDir(), "agentrunner")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -buildid=", "-buildvcs=false", "-o", path,
		"github.com/longshore-bridge/longshore/agentrunner")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+engine.Facts().Arch)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build agentrunner: %v\n%s", err, said)
	}
	return path
}

// digest identifies one state of the sources.
func digest(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return "latest"
	}
	sum := sha256.Sum256(append(data, docker.Dockerfile()...))
	return hex.EncodeToString(sum[:6])
}

// trusted returns the machine's list of certificates, so that a build trusts
// the same servers as the machine.
func trusted() string {
	const list = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(list); err != nil {
		return ""
	}
	return list
}

// importBase imports the Debian image unless the engine has it.
func importBase(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return err
	}
	defer api.Close()
	if _, err := api.ImageInspect(ctx, baseName); err == nil {
		return nil
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	f, err := openBase(ctx, cache)
	if err != nil {
		return err
	}
	defer f.Close()
	said, err := api.ImageImport(ctx, client.ImageImportSource{Source: f, SourceName: "-"}, baseName, client.ImageImportOptions{})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, said)
	return errors.Join(err, said.Close())
}

// Debian unpacks a small Debian, as debootstrap makes it, and returns its directory. Only
// root can.
func Debian(t testing.TB) (root string) {
	t.Helper()
	if os.Geteuid() != 0 {
		unavailable(t, errors.New("only root can unpack a Debian"))
	}
	cache, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), buildTime)
	defer cancel()
	base, err := openBase(ctx, cache)
	if err != nil {
		unavailable(t, err)
	}
	defer base.Close()
	root = filepath.Join(t.TempDir(), "debian")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	tar := exec.CommandContext(ctx, "tar", "--numeric-owner", "-xpf", "-", "-C", root)
	tar.Stdin = base
	if said, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("unpack a Debian: %v\n%s", err, said)
	}
	if err := os.Chmod(root, 0o755); err != nil { // the archive has the mode of a temporary directory
		t.Fatal(err)
	}
	return root
}

// openBase opens the Debian of the cache, which one test process makes.
func openBase(ctx context.Context, cache string) (*os.File, error) {
	file := filepath.Join(cache, "base.tar")
	lock, err := lockFile(filepath.Join(cache, "base.lock"))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if _, err := os.Stat(file); err != nil {
		if err := debootstrap(ctx, cache, file); err != nil {
			return nil, err
		}
	}
	return os.Open(file)
}

// debootstrap packs a small Debian into file.
func debootstrap(ctx context.Context, cache, file string) error {
	path, err := exec.LookPath("debootstrap")
	if err != nil {
		return errors.New("there is no debootstrap; install it")
	}
	root, err := os.MkdirTemp(cache, "debian")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	for _, args := range [][]string{
		{path, "--variant=minbase", "bookworm", root},
		{"sh", "-c", "rm -rf var/cache/apt/archives/*.deb var/lib/apt/lists/*"},
		{"tar", "--numeric-owner", "-cf", file + ".tmp", "."},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = root
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", args[0], err, said[max(0, len(said)-2000):])
		}
	}
	return os.Rename(file+".tmp", file)
}
