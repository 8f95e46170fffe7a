package command

import (
	"bytes"
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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// codeForm is how every code is written.
var codeForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// TestEveryCodeIsExplained wants each code that the sources can answer with in
// docs/operations.md, where an operator looks for it.
func TestEveryCodeIsExplained(t *testing.T) {
	doc := read(t, "../../docs/operations.md")
	known := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(doc, -1) {
		known[m[1]] = true
	}
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != "../.." {
			return skipDir(err)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || isTestRoom(path) {
			return nil
		}
		for _, code := range codesIn(t, path) {
			found++
			if !known[code] {
				t.Errorf("%s can answer %q, which docs/operations.md does not explain", path, code)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 40 {
		t.Errorf("only %d codes found: this test no longer sees them", found)
	}
}

// TestEveryCodeIsProduced wants a test for each code that the sources can answer with: one
// that names the code, or its constant.
func TestEveryCodeIsProduced(t *testing.T) {
	var tests strings.Builder
	codes, names := map[string]bool{}, map[string]string{} // what a code's constants are called
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && path != "../.." {
			return skipDir(err)
		}
		switch {
		case strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/script"):
			if !d.IsDir() {
				tests.WriteString(read(t, path))
			}
		case strings.HasSuffix(path, ".go") && !isTestRoom(path):
			for _, code := range codesIn(t, path) {
				codes[code] = true
			}
			for _, m := range regexp.MustCompile(`(?m)^\s*(\w+)\s.*= "([a-z0-9_]+)"`).FindAllStringSubmatch(read(t, path), -1) {
				names[m[2]] += "|" + m[1]
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for code := range codes {
		if !regexp.MustCompile(`\b(` + code + names[code] + `)\b`).MatchString(tests.String()) {
			t.Errorf("no test produces %q", code)
		}
	}
}

func skipDir(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// isTestRoom says whether a file belongs to a package that only tests use.
func isTestRoom(path string) bool {
	room := filepath.Base(filepath.Dir(path))
	return room == "channeltest" || room == "memory"
}

// codesIn collects the texts that a file gives to something called a code: a
// constant CodeX, a field Code, a variable code.
func codesIn(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	take := func(name, value ast.Expr) {
		id, ok := name.(*ast.Ident)
		if !ok || !strings.HasPrefix(strings.ToLower(id.Name), "code") {
			return
		}
		lit, ok := value.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && codeForm.MatchString(text) {
			codes = append(codes, text)
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
	return codes
}

// TestEveryCommandIsDescribed wants each command in docs/cli.md, and each of its
// flags somewhere on the page.
func TestEveryCommandIsDescribed(t *testing.T) {
	doc := read(t, "../../docs/cli.md")
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		path := c.CommandPath()
		parent, _, _ := strings.Cut(strings.TrimPrefix(path, "longshore "), " ")
		if c.Name() != "help" && parent != "completion" && c.HasParent() {
			heading := regexp.MustCompile(`(?m)^### longshore ` + regexp.QuoteMeta(parent) + `\b.*\b` + regexp.QuoteMeta(c.Name()) + `\b`)
			if parent == c.Name() {
				heading = regexp.MustCompile(`(?m)^### longshore ` + regexp.QuoteMeta(parent) + `\b`)
			}
			if !heading.MatchString(doc) && c.Runnable() {
				t.Errorf("docs/cli.md has no heading for %q", path)
			}
			if c.Short == "" {
				t.Errorf("%s has no short description", path)
			}
			c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" && !strings.Contains(doc, "--"+f.Name) {
					t.Errorf("docs/cli.md does not mention --%s of %q", f.Name, path)
				}
			})
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&env{platforms: allPlatforms(), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}))
}

// TestEveryMetricIsDescribed wants each of our metrics in docs/operations.md.
func TestEveryMetricIsDescribed(t *testing.T) {
	doc := read(t, "../../docs/operations.md")
	names := regexp.MustCompile(`desc\("([a-z_]+)"`).FindAllStringSubmatch(read(t, "../operator/health.go"), -1)
	if len(names) < 10 {
		t.Fatalf("only %d metrics found: this test no longer sees them", len(names))
	}
	for _, m := range names {
		if !regexp.MustCompile("`longshore_" + m[1] + "[`{]").MatchString(doc) {
			t.Errorf("docs/operations.md does not describe longshore_%s", m[1])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
