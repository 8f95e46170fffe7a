package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// makeCluster makes the server's data directory: a copy of the template of this version, which
// the first test makes with initdb.
func (s *Server) makeCluster() error {
	template, err := s.template()
	if err != nil {
		return err
	}
	if _, err := os.Stat(template); err != nil {
		if out, err := s.Command("initdb", "-D", s.data(), "-U", "longshore", "-E", "UTF8", "--no-sync").CombinedOutput(); err != nil {
			return fmt.Errorf("initdb: %w\n%s", err, out)
		}
		return keep(s.data(), template)
	}
	return copyTree(template, s.data())
}

// template is where the template of this server's version lies.
func (s *Server) template() (string, error) {
	version, err := s.Command("postgres", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("postgres --version: %w", err)
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" /()\n", r) {
			return '-'
		}
		return r
	}, string(version))
	if cache := os.Getenv("LONGSHORE_TEST_CACHE"); cache != "" {
		return filepath.Join(cache, name), nil
	}
	user, err := os.UserCacheDir()
	return filepath.Join(user, "longshore-test", name), err
}

// keep makes a template of a data directory. Several tests may do so at once: the first wins.
func keep(data, template string) error {
	if err := os.MkdirAll(filepath.Dir(template), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(template), ".cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := copyTree(data, filepath.Join(temp, "data")); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(temp, "data"), template); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// copyTree copies a directory with its files' owners and modes.
func copyTree(from, to string) error {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the cluster: %w\n%s", err, out)
	}
	return nil
}
