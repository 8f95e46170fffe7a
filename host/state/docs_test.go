package state

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/store"
)

// owners are the tables of docs/architecture.md, each with the package that the page names first.
func owners(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## The state\n")
	section, _, _ = strings.Cut(section, "\n## ")
	all := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*)\\| `([^`]*)`").FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Fields(row[1]) {
			all[strings.Trim(name, "`")] = row[2]
		}
	}
	return all
}

// tables are those of the schema.
func tables() map[string]bool {
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(Spec("", store.Home{}).Schema, -1) {
		all[m[1]] = true
	}
	return all
}

// TestEveryTableIsInTheDocs, and the docs name no table that is gone.
func TestEveryTableIsInTheDocs(t *testing.T) {
	there, told := tables(), owners(t)
	for name := range there {
		if told[name] == "" {
			t.Errorf("docs/architecture.md does not name the table %s", name)
		}
	}
	for name := range told {
		if !there[name] {
			t.Errorf("docs/architecture.md names the table %s, which schema.sql does not have", name)
		}
	}
	if len(there) < 30 {
		t.Errorf("only %d tables were found", len(there))
	}
}

// TestAStartMovedBytesAsideThatATableNamed asks for each column of the schema that names blobs: a
// sweep keeps those alone that its queries find.
func TestAStartMovedBytesAsideThatATableNamed(t *testing.T) {
	asked := 0
	for _, table := range regexp.MustCompile(`(?s)CREATE TABLE (\w+) \((.*?)\n\)`).FindAllStringSubmatch(Spec("", store.Home{}).Schema, -1) {
		for _, column := range regexp.MustCompile(`(?m)^\t(?:(blob)\s|(\w+).*-- (?:the|a) blob)`).FindAllStringSubmatch(table[2], -1) {
			asked++
			if query := "SELECT " + column[1] + column[2] + " FROM " + table[1]; !strings.Contains(namedBlobs+deletedBlobs, query) {
				t.Errorf("%s.%s names blobs, and neither namedBlobs nor deletedBlobs has %q", table[1], column[1]+column[2], query)
			}
		}
	}
	if asked < 4 {
		t.Errorf("only %d columns name blobs", asked)
	}
}

// writes finds the tables that a statement changes. A name that the program puts in is none.
var writes = regexp.MustCompile(`\b(?:INSERT INTO|UPDATE|DELETE FROM)(?:\s+(\w*)|$)`)

// TestEachTableIsWrittenByItsOwnerAlone compares the statements in the source with the docs.
func TestEachTableIsWrittenByItsOwnerAlone(t *testing.T) {
	known, got := tables(), map[string]string{}
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../")))
		if strings.HasSuffix(room, "test") { // the loopback servers
			return nil
		}
		for _, text := range literals(t, path) {
			for _, m := range writes.FindAllStringSubmatch(text, -1) {
				switch before := got[m[1]]; {
				case room == "store" || room == "move" || m[1] != "" && !known[m[1]]: // SQLite's own, all tables alike, or prose
				case m[1] == "":
					t.Errorf("%s: the table of %q is not known before the program runs", path, text)
				case before != "" && before != room:
					t.Errorf("%s is written by %s and by %s", m[1], before, room)
				default:
					got[m[1]] = room
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(owners(t), got); diff != "" {
		t.Errorf("the owners in docs/architecture.md (-) are not those who write (+):\n%s", diff)
	}
}

// literals are the texts in a Go file.
func literals(t *testing.T, path string) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}
