package whatsapptest

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The member program, and the exact versions of all that it is made of.
//
//go:embed testdata/baileys
var baileys embed.FS

// baileysModules returns a node_modules directory with Baileys in it, installed
// by npm into LONGSHORE_NPM or the user's cache directory, where it stays for
// the next run (30 MB). The lock file pins every package by its hash. If npm
// cannot install it, the test is skipped, or fails with LONGSHORE_TEST_ALL set.
func baileysModules(t testing.TB) string {
	t.Helper()
	dir, err := installBaileys(t.Context())
	if err != nil && os.Getenv("LONGSHORE_TEST_ALL") != "" {
		t.Fatalf("baileys is not there: %v", err)
	}
	if err != nil {
		t.Skipf("baileys is not there: %v", err)
	}
	return filepath.Join(dir, "node_modules")
}

func installBaileys(ctx context.Context) (string, error) {
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
	lock, err := baileys.ReadFile("testdata/baileys/package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "baileys-"+hex.EncodeToString(sum[:6]))
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
	if err := npmCI(ctx, temp); err != nil {
		return "", err
	}
	if err := os.Rename(temp, dir); err != nil {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	return dir, nil
}

func npmCI(ctx context.Context, dir string) error {
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := baileys.ReadFile("testdata/baileys/" + name)
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
