//go:build e2e

package postgres

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statement is one that the host's source hands to its database.
type statement struct {
	text string
	at   token.Position
}

// callers are the methods that take a statement.
var callers = map[string]bool{
	"Exec": true, "ExecContext": true, "Query": true, "QueryContext": true, "QueryRow": true, "QueryRowContext": true,
	"PrepareContext": true, "Changed": true,
}

// isStatement is how a statement begins.
var isStatement = regexp.MustCompile(`(?s)^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

// statements returns every statement of the packages below dir that use the state. A statement
// that only the running program knows is an error of the test.
func statements(t *testing.T, dir string) (all []statement) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || e.Name() == "testdata" {
			return err
		}
		if rel, _ := filepath.Rel(dir, path); rel == "store" || rel == "move" || rel == "state/statetest" {
			return nil // speaks to SQLite alone
		}
		all = append(all, parse(t, path).statements(t)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// room is one package's source.
type room struct {
	fset  *token.FileSet
	files []*ast.File
	info  types.Info
}

// parse reads a package without its tests, and the values of its constants.
func parse(t *testing.T, dir string) *room {
	t.Helper()
	r := &room{fset: token.NewFileSet(), info: types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	uses := false
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(r.fset, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			uses = uses || strings.HasSuffix(i.Path.Value, `/host/state"`)
		}
		r.files = append(r.files, f)
	}
	if !uses {
		return &room{}
	}
	conf := types.Config{Importer: little{importer.ForCompiler(r.fset, "source", nil)}, Error: func(error) {}} // of others' types nothing is known, which matters for no constant
	_, _ = conf.Check(dir, r.fset, r.files, &r.info)
	return r
}

// little imports database/sql as it is, and all other packages empty.
type little struct{ types.Importer }

func (l little) Import(path string) (*types.Package, error) {
	if path == "database/sql" {
		return l.Importer.Import(path)
	}
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}

// statements returns what the package's calls hand to a database.
func (r *room) statements(t *testing.T) (all []statement) {
	t.Helper()
	for _, f := range r.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !callers[sel.Sel.Name] || len(call.Args) == 0 || r.prepared(sel.X) {
				return true
			}
			at := r.fset.Position(call.Pos())
			found, err := r.ofCall(call)
			if err != nil {
				t.Errorf("%s: the statement is not known before the program runs: %v", at, err)
			}
			for _, text := range found {
				all = append(all, statement{text, at})
			}
			return true
		})
	}
	return all
}

// prepared reports whether an expression is a statement that was prepared before.
func (r *room) prepared(e ast.Expr) bool {
	t := r.info.TypeOf(e)
	return t != nil && t.String() == "*database/sql.Stmt"
}

// ofCall returns the statements that one call may hand over; none if it takes no statement.
func (r *room) ofCall(call *ast.CallExpr) ([]string, error) {
	arg := call.Args[0]
	if len(call.Args) > 1 && r.isContext(arg) {
		arg = call.Args[1]
	}
	texts, err := r.eval(arg, 0)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, text := range texts {
		if isStatement.MatchString(text) {
			all = append(all, text)
		}
	}
	return all, nil
}

// isContext reports whether an argument is a context, by its form.
func (r *room) isContext(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.HasSuffix(strings.ToLower(e.Name), "ctx") || e.Name == "grace"
	case *ast.SelectorExpr:
		return e.Sel.Name == "ctx"
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Background" || sel.Sel.Name == "WithoutCancel" || sel.Sel.Name == "Context" || sel.Sel.Name == "TODO")
	}
	return false
}

const (
	deepest = 8    // steps that a value is followed
	most    = 2000 // texts of one value
)

// eval returns the texts that an expression can have.
func (r *room) eval(e ast.Expr, depth int) ([]string, error) {
	if v, ok := r.info.Types[e]; ok && v.Value != nil && v.Value.Kind() == constant.String {
		return []string{constant.StringVal(v.Value)}, nil
	}
	if depth > deepest {
		return nil, fmt.Errorf("%s: followed too far", r.fset.Position(e.Pos()))
	}
	texts, err := r.follow(e, depth)
	slices.Sort(texts)
	if texts = slices.Compact(texts); len(texts) > most {
		return nil, fmt.Errorf("%s: more than %d texts", r.fset.Position(e.Pos()), most)
	}
	return texts, err
}

// follow is eval of what is no constant.
func (r *room) follow(e ast.Expr, depth int) ([]string, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return r.eval(e.X, depth)
	case *ast.BinaryExpr:
		return r.both(e.X, e.Y, depth)
	case *ast.Ident:
		return r.variable(e, depth)
	case *ast.CallExpr:
		return r.call(e, depth)
	case *ast.IndexExpr:
		return r.eval(e.X, depth)
	case *ast.CompositeLit:
		return r.elements(e, depth)
	case *ast.SelectorExpr:
		return r.field(e.Sel.Name), nil
	}
	return nil, fmt.Errorf("%s: a %T", r.fset.Position(e.Pos()), e)
}

func (r *room) both(x, y ast.Expr, depth int) (all []string, err error) {
	first, err := r.eval(x, depth+1)
	if err != nil {
		return nil, err
	}
	second, err := r.eval(y, depth+1)
	if err != nil {
		return nil, err
	}
	for _, a := range first {
		for _, b := range second {
			all = append(all, a+b)
		}
	}
	return all, nil
}

// elements are the texts of a list, or of the keys and values of a map.
func (r *room) elements(e *ast.CompositeLit, depth int) (all []string, _ error) {
	for _, one := range e.Elts {
		var from []ast.Expr
		if pair, ok := one.(*ast.KeyValueExpr); ok {
			from = []ast.Expr{pair.Key, pair.Value}
		} else {
			from = []ast.Expr{one}
		}
		for _, expr := range from {
			if texts, err := r.eval(expr, depth+1); err == nil {
				all = append(all, texts...)
			}
		}
	}
	return all, nil
}

// field are the known texts that literals of the package give to a field of that name, or to
// the first field of one without names.
func (r *room) field(name string) (all []string) {
	for _, f := range r.files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			for _, one := range lit.Elts {
				value := one
				if pair, ok := one.(*ast.KeyValueExpr); ok {
					if key, ok := pair.Key.(*ast.Ident); !ok || key.Name != name {
						continue
					}
					value = pair.Value
				}
				if text := r.info.Types[value]; text.Value != nil && text.Value.Kind() == constant.String {
					all = append(all, constant.StringVal(text.Value))
				}
			}
			return true
		})
	}
	return all
}

// call returns what a function makes of known texts.
func (r *room) call(e *ast.CallExpr, depth int) ([]string, error) {
	if sel, ok := e.Fun.(*ast.SelectorExpr); ok {
		switch pkg, _ := sel.X.(*ast.Ident); {
		case pkg != nil && pkg.Name == "strings" && sel.Sel.Name == "Repeat":
			return r.eval(e.Args[0], depth+1)
		case pkg != nil && pkg.Name == "fmt" && sel.Sel.Name == "Sprintf":
			return r.sprintf(e, depth)
		case pkg != nil && sel.Sel.Name == "String":
			return r.written(pkg, depth)
		}
		return nil, fmt.Errorf("%s: a call of %s", r.fset.Position(e.Pos()), sel.Sel.Name)
	}
	name, ok := e.Fun.(*ast.Ident)
	if !ok {
		return nil, fmt.Errorf("%s: a call", r.fset.Position(e.Pos()))
	}
	decl := r.function(r.info.Uses[name])
	if decl == nil {
		return nil, fmt.Errorf("%s: a call of %s", r.fset.Position(e.Pos()), name.Name)
	}
	var all []string
	var failed error
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		if back, ok := n.(*ast.ReturnStmt); ok && len(back.Results) > 0 {
			texts, err := r.eval(back.Results[0], depth+1)
			all, failed = append(all, texts...), err
		}
		return failed == nil
	})
	return all, failed
}

// written are the texts that a builder can hold: each piece may be there or not, but the first is.
func (r *room) written(builder *ast.Ident, depth int) (all []string, failed error) {
	for _, f := range r.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "WriteString" {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); !ok || !r.is(id, r.info.Uses[builder]) {
				return true
			}
			pieces, err := r.eval(call.Args[0], depth+1)
			if failed = err; err != nil {
				return false
			}
			if len(all) == 0 {
				all = pieces
				return true
			}
			for _, text := range all[:len(all):len(all)] {
				for _, piece := range pieces {
					all = append(all, text+piece)
				}
			}
			return true
		})
	}
	return all, failed
}

var verbs = regexp.MustCompile(`%[sdv]`)

func (r *room) sprintf(e *ast.CallExpr, depth int) ([]string, error) {
	texts, err := r.eval(e.Args[0], depth+1)
	for _, arg := range e.Args[1:] {
		values, unknown := r.eval(arg, depth+1)
		if unknown != nil {
			values = []string{"1"} // a number
		}
		var next []string
		for _, text := range texts {
			for _, value := range values {
				done := false
				next = append(next, verbs.ReplaceAllStringFunc(text, func(verb string) string {
					if done {
						return verb
					}
					done = true
					return value
				}))
			}
		}
		texts = next
	}
	return texts, err
}

// function finds the declaration of a function of the package.
func (r *room) function(of types.Object) *ast.FuncDecl {
	for _, f := range r.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && of != nil && r.info.Defs[fn.Name] == of && fn.Body != nil {
				return fn
			}
		}
	}
	return nil
}
