package safefs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsReplacedWholeAndANewOneWrittenOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	for _, step := range []struct {
		write func(string, []byte, fs.FileMode) error
		data  string
		want  string
	}{
		{WriteNew, "first", "first"},
		{WriteNew, "second", "first"},
		{WriteFile, "third", "third"},
	} {
		if err := step.write(path, []byte(step.data), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != step.want {
			t.Errorf("%q, %v; want %q", got, err, step.want)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := WriteFile(dir, nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*.tmp")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
