//go:build e2e

package postgres

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// variable returns what a variable can hold: what is assigned to it, or what the callers of its
// function pass.
func (r *room) variable(e *ast.Ident, depth int) ([]string, error) {
	of := r.info.Uses[e]
	if of == nil {
		of = r.info.Defs[e]
	}
	if of == nil {
		return nil, fmt.Errorf("%s: %s is not of this package", r.fset.Position(e.Pos()), e.Name)
	}
	if fn, at := r.parameter(of); fn != nil {
		return r.passed(fn, at, depth)
	}
	var all, more []string
	var failed error
	add := func(value ast.Expr, on bool) {
		texts, err := r.eval(value, depth+1)
		if err != nil {
			failed = err
		}
		if on {
			more = append(more, texts...)
			return
		}
		all = append(all, texts...)
	}
	for _, f := range r.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if id, ok := left.(*ast.Ident); ok && r.is(id, of) && len(n.Lhs) == len(n.Rhs) {
						r.assigned(of, n, n.Rhs[i], add)
					}
				}
			case *ast.ValueSpec:
				for i, id := range n.Names {
					if r.is(id, of) && i < len(n.Values) {
						add(n.Values[i], false)
					}
				}
			case *ast.RangeStmt:
				for _, left := range []ast.Expr{n.Key, n.Value} {
					if id, ok := left.(*ast.Ident); ok && r.is(id, of) {
						add(n.X, false)
					}
				}
			}
			return true
		})
	}
	if failed == nil && len(all) == 0 {
		failed = fmt.Errorf("%s: nothing is known of %s", r.fset.Position(e.Pos()), e.Name)
	}
	for _, text := range all[:len(all):len(all)] {
		for _, end := range more {
			all = append(all, text+end)
		}
	}
	return all, failed
}

// assigned adds what an assignment gives to a variable: a new text, or more of the one before.
func (r *room) assigned(of types.Object, n *ast.AssignStmt, value ast.Expr, add func(ast.Expr, bool)) {
	if n.Tok == token.ADD_ASSIGN {
		add(value, true)
		return
	}
	if sum, ok := value.(*ast.BinaryExpr); ok { // v = v + more
		if id, ok := sum.X.(*ast.Ident); ok && r.is(id, of) {
			add(sum.Y, true)
			return
		}
	}
	add(value, false)
}

func (r *room) is(id *ast.Ident, of types.Object) bool {
	return r.info.Defs[id] == of || r.info.Uses[id] == of
}

// parameter returns the function of which a variable is the parameter, and its place.
func (r *room) parameter(of types.Object) (*ast.FuncDecl, int) {
	for _, f := range r.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at := 0
			for _, field := range fn.Type.Params.List {
				for _, name := range field.Names {
					if r.info.Defs[name] == of {
						return fn, at
					}
					at++
				}
			}
		}
	}
	return nil, 0
}

// passed returns what the package's calls pass at that place. Methods are known by their names.
func (r *room) passed(fn *ast.FuncDecl, at, depth int) (all []string, failed error) {
	for _, f := range r.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || at >= len(call.Args) {
				return true
			}
			switch name := call.Fun.(type) {
			case *ast.Ident:
				ok = r.info.Uses[name] == r.info.Defs[fn.Name]
			case *ast.SelectorExpr:
				ok = fn.Recv != nil && name.Sel.Name == fn.Name.Name && (r.info.Uses[name.Sel] == nil || r.info.Uses[name.Sel] == r.info.Defs[fn.Name])
			default:
				ok = false
			}
			if !ok {
				return true
			}
			texts, err := r.eval(call.Args[at], depth+1)
			if err != nil {
				failed = err
			}
			all = append(all, texts...)
			return true
		})
	}
	return all, failed
}
