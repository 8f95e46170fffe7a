package serve

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
)

const everything = `
state: ./state
channels: {web: {listen: "127.0.0.1:0"}}
remote: {listen: "127.0.0.1:0"}
metrics: {listen: "127.0.0.1:0"}
operator_page: {listen: "127.0.0.1:0"}
assistants: {far: {runtime: remote}}
groups:
- {folder: family, chat: "web:family", assistant: far}
`

// newHost opens a host that has no use for its parts yet.
func newHost(t *testing.T, text string, idle bool) *Host {
	t.Helper()
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	parse := func(registered ...groups.Group) (*config.Config, error) {
		return config.Parse(file, []byte(text), func(string) string { return "" }, []channel.Platform{web.Platform()}, registered...)
	}
	cfg, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Idle: idle, File: testFile{parse}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEveryPartIsInTheList: each type of this package that hears of a reload, or embeds that
// it does not, is a part of a host that has everything. So a reload forgets none.
func TestEveryPartIsInTheList(t *testing.T) {
	h := newHost(t, everything, false)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	listed := map[string]bool{}
	for _, p := range h.parts {
		of := reflect.TypeOf(p)
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if listed[of.Name()] {
			t.Errorf("%s is in the list twice", of.Name())
		}
		listed[of.Name()] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range partsIn(f) {
			if found++; !listed[part] {
				t.Errorf("%s, %s: not in the list: no reload reaches it", name, part)
			}
		}
	}
	if found < len(h.parts) || found < 15 {
		t.Errorf("%d types are parts, and %d are in the list", found, len(h.parts))
	}
}

// partsIn are the types of a file that have a method Apply of a part, or embed noApply.
func partsIn(f *ast.File) (all []string) {
	named := func(e ast.Expr) string {
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		if id, ok := e.(*ast.Ident); ok {
			return id.Name
		}
		return ""
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "Apply" && named(n.Recv.List[0].Type) != "noApply" {
				all = append(all, named(n.Recv.List[0].Type))
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && named(f.Type) == "noApply" }) {
				all = append(all, n.Name.Name)
			}
		}
		return true
	})
	return all
}

// noted notes what a host does with a part.
type noted struct {
	name string
	did  *[]string
	err  error
}

func (p noted) Apply(*live.Live)          { *p.did = append(*p.did, "apply "+p.name) }
func (p noted) Run(context.Context) error { return p.err }
func (p noted) Close() error {
	*p.did = append(*p.did, "close "+p.name)
	return p.err
}

func TestPartsApplyInTheOrderOfTheListAndCloseInReverse(t *testing.T) {
	h := newHost(t, everything, true)
	real := h.parts
	defer func() {
		if err := closeParts(real); err != nil {
			t.Error(err)
		}
	}()
	var did []string
	worn := errors.New("worn")
	h.parts = []Part{noted{"a", &did, nil}, noted{"b", &did, worn}, noted{"c", &did, nil}}
	if answer, err := h.Reload(t.Context(), false); err != nil || len(answer.Problems) > 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
	if err := h.Run(t.Context()); !errors.Is(err, worn) {
		t.Errorf("a part could not go on, and the host ended with %v", err)
	}
	if err := h.Close(); !errors.Is(err, worn) {
		t.Errorf("a part did not close, and the host ended with %v", err)
	}
	if want := []string{"apply a", "apply b", "apply c", "close c", "close b", "close a"}; !slices.Equal(did, want) {
		t.Errorf("%q, want %q", did, want)
	}
}
