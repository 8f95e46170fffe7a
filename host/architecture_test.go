package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/longshore-bridge/longshore"

// rooms is the architecture: which package of ours may import which, test
// files included only where they say so below. A package that is missing here
// has no place in the design yet. "x/..." stands for a room with all below it.
var rooms = map[string][]string{
	"media":  {},
	"ipc":    {},
	"groups": {},

	"agentrunner":        {"agentrunner/cli"},
	"agentrunner/...":    {"agentrunner/...", "ipc", "media"},
	"host/channel":       {"groups", "media"},
	"host/channel/...":   {"host/channel", "groups", "media"},
	"host/outbox":        {"host/channel", "groups", "media"},
	"host/bridge":        {"host/outbox", "host/channel", "ipc", "groups", "media"},
	"host/container":     {"groups", "ipc"},
	"host/container/...": {"host/container", "host/container/...", "groups", "ipc"},
	"host/assistant":     {"host/channel", "host/container", "groups", "ipc", "media"},
	"host/importer":      {"groups"},
	"host/operator":      {"host/outbox", "host/channel", "groups", "ipc", "media"},
	"host":               {"host/...", "agentrunner/...", "ipc", "groups", "media"},
}

// TestArrows reads every import with go/parser: the answer of the go command
// could come from its cache.
func TestArrows(t *testing.T) {
	for dir, files := range packages(t) {
		allowed, ok := allowedFor(dir)
		if !ok {
			t.Errorf("%s is no room of the design: add it to the table with what it may import", dir)
			continue
		}
		for _, file := range files {
			for _, imported := range imports(t, filepath.Join("..", dir, file)) {
				if !matches(allowed, imported) && !(strings.HasSuffix(file, "_test.go") && testMay(dir, imported)) {
					t.Errorf("%s/%s imports %s; %s may import only %v", dir, file, imported, dir, allowed)
				}
			}
		}
	}
}

// TestEveryPackageSaysWhatItIsFor wants a package comment of at least a sentence.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for dir, files := range packages(t) {
		if !slices.ContainsFunc(files, func(f string) bool { return !strings.HasSuffix(f, "_test.go") }) {
			continue
		}
		if !slices.ContainsFunc(files, func(f string) bool { return documented(t, filepath.Join("..", dir, f)) }) {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// testMay lists what tests may import beyond their room: itself, the platform's
// loopback server below it (x/xtest), for the host the conformance suite, and
// for agentrunner its own rooms and the queue.
func testMay(dir, imported string) bool {
	if dir == "agentrunner" {
		return matches([]string{"agentrunner/...", "ipc", "media"}, imported)
	}
	if imported == dir || imported == dir+"/"+path.Base(dir)+"test" {
		return true
	}
	return strings.HasPrefix(dir, "host/") && strings.HasPrefix(imported, "host/channel/channeltest")
}

func allowedFor(dir string) ([]string, bool) {
	if a, ok := rooms[dir]; ok {
		return a, true
	}
	for up := path.Dir(dir); up != "."; up = path.Dir(up) {
		if a, ok := rooms[up+"/..."]; ok {
			return a, true
		}
	}
	return nil, false
}

func matches(allowed []string, imported string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		root, deep := strings.CutSuffix(a, "/...")
		return imported == root || (deep && strings.HasPrefix(imported, root+"/"))
	})
}

// packages maps each directory with Go files, relative to the module's root,
// to the names of those files.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(p, ".go") {
			found[path.Dir(p)] = append(found[path.Dir(p)], path.Base(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// imports returns the file's imports of this module, relative to its root.
func imports(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, spec := range f.Imports {
		if rel, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ok {
			ours = append(ours, rel)
		}
	}
	return ours
}

func documented(t *testing.T, file string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc != nil && strings.Contains(f.Doc.Text(), ".")
}
