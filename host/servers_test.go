package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// craft are the names of the standard library that the servers of the host use in host/httpd alone,
// by package.
var craft = map[string][]string{
	"net/http":      {"Server", "ListenAndServe", "Serve", "NewServeMux", "ServeMux", "DefaultServeMux", "CrossOriginProtection", "MaxBytesReader", "Error", "NotFound"},
	"net":           {"Listen", "ListenTCP", "ListenUnix", "ListenConfig"},
	"crypto/subtle": {"ConstantTimeCompare"},
	"crypto/hmac":   {"Equal"},
}

// outside are the uses of these names elsewhere, each with its reason.
var outside = map[string]string{
	"agentrunner/internal/forward net.Listen": "carries bytes of a container to a socket, and speaks no HTTP",
	"host/runtime/docker net.ListenUnix":      "hands its listener to those who serve; what runs assistants knows no servers",
	"host/turns hmac.Equal":                   "an id of the host's own, which proves no caller",
}

// TestNoRoomButHTTPDMakesAServer reads the product's code: whoever makes a server, listens, bounds a
// body or compares secrets by hand would have to do it as carefully once more.
func TestNoRoomButHTTPDMakesAServer(t *testing.T) {
	table, err := os.ReadFile("../e2e/remote/servers_test.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for dir, names := range packages(t) {
		if dir == "host/httpd" || slices.Contains(forTests, dir) || strings.HasSuffix(dir, "test") || !strings.HasPrefix(dir, "host") && !strings.HasPrefix(dir, "agentrunner") {
			continue
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for use := range craftOf(f) {
				at := dir + " " + use
				used[at] = true
				if use == "httpd.Server" && !strings.Contains(string(table), `"`+dir+`"`) {
					t.Errorf("%s/%s makes a server: add it to the table of e2e/remote/servers_test.go", dir, name)
				}
				if use != "httpd.Server" && outside[at] == "" {
					t.Errorf("%s/%s uses %s: stand on host/httpd", dir, name, use)
				}
			}
		}
	}
	for at := range outside {
		if !used[at] {
			t.Errorf("%s is on the list and not in the code", at)
		}
	}
	if !used["host/remote httpd.Server"] {
		t.Error("the servers are not found")
	}
}

// craftOf returns what a file uses of craft, and httpd.Server.
func craftOf(f *ast.File) map[string]bool {
	of := map[string][]string{}
	for _, s := range f.Imports {
		p := strings.Trim(s.Path.Value, `"`)
		name := p[strings.LastIndex(p, "/")+1:]
		if s.Name != nil {
			name = s.Name.Name
		}
		if p == module+"/host/httpd" {
			of[name] = []string{"Server"}
		} else if craft[p] != nil {
			of[name] = craft[p]
		}
	}
	found := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(of[x.Name], sel.Sel.Name) {
				found[x.Name+"."+sel.Sel.Name] = true
			}
		}
		return true
	})
	return found
}
