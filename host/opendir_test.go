package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// waits are the calls that wait for the other end of a named pipe, if one stands in place
// of the directory that they are to open.
var waits = regexp.MustCompile(`\bos\.(OpenRoot|ReadDir)\(`)

// TestADirectoryIsOpenedByACallThatWaits reads the code: safefs has calls that do not wait.
func TestADirectoryIsOpenedByACallThatWaits(t *testing.T) {
	for _, room := range []string{"host", "ipc", "groups"} {
		err := filepath.WalkDir(filepath.Join("..", room), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			text, err := os.ReadFile(path)
			if call := waits.Find(text); call != nil {
				t.Errorf("%s: %s…): use that of internal/safefs", path, call)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
