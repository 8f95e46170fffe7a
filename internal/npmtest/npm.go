// Package npmtest installs packages from npm for tests: programs and libraries
// that nobody here wrote. Only tests of the second tier (tag e2e), and the
// servers that they start, import it.
package npmtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/need"
)

// Modules returns a node_modules directory, installed by npm into LONGSHORE_NPM or
// the user's cache directory, where it stays for the next run. The directory dir
// of files has a package.json, and a package-lock.json that pins every package by
// its hash. If Node does not run or npm cannot install the packages, Modules ends
// the test by need.Lacking.
func Modules(t testing.TB, files embed.FS, dir string) string {
	t.Helper()
	if err := runsNode(); err != nil {
		need.Lacking(t, "run Node.js: %v", err)
	}
	at, err := install(t.Context(), files, dir)
	if err != nil {
		need.Lacking(t, "install the packages of %s by npm: %v", path.Base(dir), err)
	}
	return filepath.Join(at, "node_modules")
}

// oldest is the first major version of Node.js that runs the packages.
const oldest = 20

// runsNode asks Node.js for its version, once a process.
var runsNode = sync.OnceValue(func() error {
	out, err := exec.Command("node", "--print", "process.versions.node").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	major, _, _ := strings.Cut(string(out), ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldest {
		return fmt.Errorf("version %s is older than %d", bytes.TrimSpace(out), oldest)
	}
	return nil
})

func install(ctx context.Context, files embed.FS, from string) (string, error) {
	cache := os.Getenv("LONGSHORE_NPM")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "longshore-test")
	}
	lock, err := files.ReadFile(path.Join(from, "package-lock.json"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, path.Base(from)+"-"+hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Tests of several packages may install at once: the first one stays.
	temp, err := os.MkdirTemp(cache, ".install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	if err := npmCI(ctx, files, from, temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	return dir, nil
}

func npmCI(ctx context.Context, files embed.FS, from, dir string) error {
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := files.ReadFile(path.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	// Baileys works without its peers, which only make thumbnails.
	cmd := exec.CommandContext(ctx, "npm", "ci", "--prefix", dir, "--legacy-peer-deps", "--ignore-scripts", "--no-audit", "--no-fund")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}
