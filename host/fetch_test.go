package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownClients are the files of channels that may make an HTTP client of their
// own, because no address of a member's reaches it.
var ownClients = []string{
	"host/channel/whatsapp/whatsapp.go", // the socket and the version: addresses that the library holds
}

// TestChannelsFetchThroughTheGuardAlone reads what the channels' files name of
// net/http: a client made elsewhere than in package transfer would go wherever
// a member says.
func TestChannelsFetchThroughTheGuardAlone(t *testing.T) {
	outgoing := []string{"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}
	made := map[string]bool{}
	for dir, files := range packages(t) {
		if !strings.HasPrefix(dir, "host/channel") || dir == "host/channel/transfer" || strings.HasSuffix(dir, "test") {
			continue
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if makesClient(n, outgoing) {
					made[path.Join(dir, name)] = true
				}
				return true
			})
		}
	}
	for file := range made {
		if !slices.Contains(ownClients, file) {
			t.Errorf("%s makes an HTTP client: use package transfer", file)
		}
	}
	for _, file := range ownClients {
		if !made[file] {
			t.Errorf("%s makes no HTTP client any more: take it off the list", file)
		}
	}
}

// makesClient says whether a node makes or uses one of net/http's clients. The
// name of a type alone, as in a field, is none.
func makesClient(n ast.Node, names []string) bool {
	var e ast.Expr
	switch n := n.(type) {
	case *ast.CompositeLit:
		e = n.Type
	case *ast.CallExpr:
		e = n.Fun
		if len(n.Args) == 1 {
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "new" {
				e = n.Args[0]
			}
		}
	case *ast.SelectorExpr:
		if !strings.HasPrefix(n.Sel.Name, "Default") {
			return false
		}
		e = n
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "http" && slices.Contains(names, sel.Sel.Name)
}
