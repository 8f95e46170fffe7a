// Package npmtest installs packages of npm's that tests hold this project
// against: programs and libraries that nobody here wrote.
package npmtest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"
)

// Modules returns a node_modules directory, installed by npm into LONGSHORE_NPM or
// the user's cache directory, where it stays for the next run. The directory dir
// of files has a package.json, and a package-lock.json that pins every package by
// its hash. If npm cannot install them, the test is skipped, or fails with
// LONGSHORE_TEST_ALL set. The tests of -short do not start Node.
func Modules(t testing.TB, files embed.FS, dir string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts Node")
	}
	at, err := install(t.Context(), files, dir)
	if err != nil && os.Getenv("LONGSHORE_TEST_ALL") != "" {
		t.Fatalf("%s is not there: %v", path.Base(dir), err)
	}
	if err != nil {
		t.Skipf("%s is not there: %v", path.Base(dir), err)
	}
	return filepath.Join(at, "node_modules")
}

func install(ctx context.Context, files embed.FS, from string) (string, error) {
	cache := os.Getenv("LONGSHORE_NPM")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "longshore-test")
	}
	if _, err := exec.LookPath("node"); err != nil {
		return "", err
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
