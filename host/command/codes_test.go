package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
)

// codeForm is how every code is written.
var codeForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// sources are all Go files of the module, parsed.
type sources struct {
	codes     map[string][]string          // the files that call a text a code
	texts     map[string][]string          // the files that have a text of a code's form, whatever they call it
	constants map[string]map[string]string // by directory and name: the texts of constants that are codes
	tests     []testFile
	scripts   string // the scripts of tests
}

type testFile struct {
	dir     string // below the module's
	imports map[string]string
	*ast.File
}

const module = "github.com/longshore-bridge/longshore/"

// readSources parses the module.
func readSources(t *testing.T) *sources {
	t.Helper()
	s := &sources{codes: map[string][]string{}, texts: map[string][]string{}, constants: map[string]map[string]string{}}
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
				return fs.SkipDir
			}
		case strings.Contains(filepath.ToSlash(file), "testdata/script"):
			s.scripts += stage.Read(t, file)
		case strings.HasSuffix(file, ".go") && !isTestRoom(file):
			s.add(t, file)
		}
		return nil
	})
	stage.Must(t, err)
	return s
}

func (s *sources) add(t *testing.T, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	stage.Must(t, err)
	dir, err := filepath.Rel("../..", filepath.Dir(file))
	stage.Must(t, err)
	if strings.HasSuffix(file, "_test.go") {
		test := testFile{dir, map[string]string{}, parsed}
		for _, i := range parsed.Imports {
			from, _ := strconv.Unquote(i.Path.Value)
			name := filepath.Base(from)
			if i.Name != nil {
				name = i.Name.Name
			}
			test.imports[name] = strings.TrimPrefix(from, module)
		}
		s.tests = append(s.tests, test)
		return
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			if text, _ := textOf(lit); codeForm.MatchString(strings.TrimPrefix(text, "_")) {
				s.texts[text] = append(s.texts[text], file)
			}
		}
		return true
	})
	for name, code := range codesIn(parsed) {
		s.codes[code] = append(s.codes[code], file)
		if s.constants[dir] == nil {
			s.constants[dir] = map[string]string{}
		}
		s.constants[dir][name] = code
	}
}

// isTestRoom says whether a file belongs to a package that only tests use.
func isTestRoom(path string) bool {
	room := filepath.Base(filepath.Dir(path))
	return room == "memory" || strings.HasSuffix(room, "test") && !strings.HasSuffix(path, "_test.go")
}

// codesIn yields the texts that a file gives to something that is called a code, and what
// that is called: a constant CodeX, a field Code, a variable code.
func codesIn(file *ast.File) func(yield func(name, code string) bool) {
	return func(yield func(name, code string) bool) {
		take := func(name, value ast.Expr) {
			id, ok := name.(*ast.Ident)
			if !ok || !strings.HasPrefix(strings.ToLower(id.Name), "code") {
				return
			}
			if text, ok := textOf(value); ok && codeForm.MatchString(text) {
				yield(id.Name, text)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				take(n.Key, n.Value)
			case *ast.AssignStmt:
				for i := range min(len(n.Lhs), len(n.Rhs)) {
					take(n.Lhs[i], n.Rhs[i])
				}
			case *ast.ValueSpec:
				for i := range min(len(n.Names), len(n.Values)) {
					take(n.Names[i], n.Values[i])
				}
			}
			return true
		})
	}
}

func textOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// wanted are the codes that tests name outside of comments: by a constant, by a code of
// several words within a text, or by one word where a code may stand: "moved" alone is
// often no code.
func (s *sources) wanted() map[string]bool {
	all := map[string]bool{}
	for _, w := range severalWords.FindAllString(s.scripts, -1) {
		all[w] = true
	}
	for _, test := range s.tests {
		ast.Inspect(test.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, _ := textOf(n)
				for _, w := range severalWords.FindAllString(text, -1) {
					all[w] = true
				}
				for _, m := range regexp.MustCompile(`"code": ?"([a-z]+)"`).FindAllStringSubmatch(text, -1) {
					all[m[1]] = true
				}
			case *ast.BinaryExpr:
				all[codeBeside(n.X, n.Y)], all[codeBeside(n.Y, n.X)] = true, true
			case *ast.KeyValueExpr:
				all[codeBeside(n.Key, n.Value)] = true
			case *ast.CompositeLit: // a row of a table
				for _, e := range n.Elts {
					text, _ := textOf(e)
					all[text] = true
				}
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok {
					all[s.constants[test.imports[of.Name]][n.Sel.Name]] = true
				}
			case *ast.Ident:
				all[s.constants[test.dir][n.Name]] = true
			}
			return true
		})
	}
	return all
}

var severalWords = regexp.MustCompile(`[a-z0-9]+(_[a-z0-9]+)+`)

// codeBeside is the text of value if name is something that is called a code, or else empty.
func codeBeside(name, value ast.Expr) string {
	var called string
	switch n := name.(type) {
	case *ast.Ident:
		called = n.Name
	case *ast.SelectorExpr:
		called = n.Sel.Name
	}
	if !strings.HasSuffix(strings.ToLower(called), "code") {
		return ""
	}
	text, _ := textOf(value)
	return text
}

// explained are the codes in the first column of the tables of docs/operations.md, from
// the heading that explains codes to the one of causes and faults.
func explained(t *testing.T) map[string]bool {
	t.Helper()
	_, doc, ok := strings.Cut(stage.Read(t, "../../docs/operations.md"), "\n## What each code means\n")
	if !ok {
		t.Fatal("docs/operations.md has no heading for codes")
	}
	doc, _, _ = strings.Cut(doc, "\n## ")
	all := map[string]bool{}
	for line := range strings.Lines(doc) {
		if row := strings.Split(line, "|"); len(row) > 2 {
			for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(row[1], -1) {
				all[m[1]] = true
			}
		}
	}
	return all
}

// origin is a file that can answer with a code; empty: none can. Channels put some codes
// together: their platform, and the same words for all.
func (s *sources) origin(code string) string {
	platform, rest, _ := strings.Cut(code, "_")
	for _, files := range [][]string{s.codes[code], s.texts[code]} {
		if len(files) > 0 {
			return files[0]
		}
	}
	if files := s.texts["_"+rest]; len(files) > 0 && slices.ContainsFunc(stage.AllPlatforms(), func(p channel.Platform) bool { return p.Key() == platform }) {
		return files[0]
	}
	return ""
}

// TestEveryCodeIsExplained wants each code that the sources can answer with in
// docs/operations.md, where an operator looks for it, and no code there that nothing
// answers with.
func TestEveryCodeIsExplained(t *testing.T) {
	s, known := readSources(t), explained(t)
	for _, code := range slices.Sorted(maps.Keys(s.codes)) {
		if !known[code] {
			t.Errorf("%s can answer %q, which docs/operations.md does not explain", s.codes[code][0], code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(known)) {
		if s.origin(code) == "" {
			t.Errorf("docs/operations.md explains %q, with which nothing answers", code)
		}
	}
	if len(s.codes) < 140 || len(known) < 170 {
		t.Errorf("only %d codes found, and %d explained: this test no longer sees them", len(s.codes), len(known))
	}
}

// TestEveryCodeIsProduced wants a test for each code that docs/operations.md explains.
func TestEveryCodeIsProduced(t *testing.T) {
	s := readSources(t)
	wanted := s.wanted()
	for _, code := range slices.Sorted(maps.Keys(explained(t))) {
		if !wanted[code] {
			t.Errorf("no test wants the code %q of %s", code, s.origin(code))
		}
	}
}
