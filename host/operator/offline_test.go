package operator_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/tasks"
)

// TestEachMethodOfControlHasItsCall compares the interface with the rows of ops.
func TestEachMethodOfControlHasItsCall(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "ops.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	ast.Inspect(file.Scope.Lookup("ops").Decl.(*ast.ValueSpec), func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && (x.Name == "Control" || x.Name == "c") {
				rows[s.Sel.Name]++
			}
		}
		return true
	})
	for m := range reflect.TypeFor[operator.Control]().Methods() {
		if rows[m.Name] != 1 {
			t.Errorf("Control.%s has %d rows in ops", m.Name, rows[m.Name])
		}
	}
}

// queries are the methods of Control that only read, and answer without a host.
var queries = []string{"Status", "List", "Show", "Tasks", "Audit", "Findings"}

// nothingOpens is an installation whose outbox cannot be opened.
type nothingOpens struct{}

var errNotOpened = errors.New("not opened")

func (nothingOpens) Act(context.Context, func(*operator.Local) error) error { return errNotOpened }
func (nothingOpens) StoredTasks(context.Context, string) ([]tasks.Task, error) {
	return nil, nil
}

// TestWithoutAHostAnActionNeedsTheOutbox calls each method of an Offline whose Local has no
// outbox, only records: a method that works with the outbox of that Local, instead of opening
// one, panics.
func TestWithoutAHostAnActionNeedsTheOutbox(t *testing.T) {
	c := newCounter(t)
	id := c.accept("family", "a.txt", "").Key
	for m := range reflect.TypeFor[operator.Control]().Methods() {
		t.Run(m.Name, func(t *testing.T) {
			view, err := store.Look(t.Context(), state.Spec(c.Layout.Own(), store.Home{}))
			if err != nil {
				t.Fatal(err)
			}
			reader, err := records.NewReader(t.Context(), view.DB)
			if err != nil {
				t.Fatal(err)
			}
			o := operator.NewOffline(operator.Options{Layout: c.Layout, Groups: operator.Fixed(c.rooms.groups), Records: reader}, view, nothingOpens{})
			defer o.Leave()
			in := []reflect.Value{reflect.ValueOf(t.Context())}
			for i := 1; i < m.Type.NumIn(); i++ {
				in = append(in, argument(m.Type.In(i), id))
			}
			out := reflect.ValueOf(o).MethodByName(m.Name).Call(in)
			err, _ = out[len(out)-1].Interface().(error)
			switch reads := slices.Contains(queries, m.Name); {
			case reads && err != nil:
				t.Error(err)
			case !reads && err == nil:
				t.Error("it answers as if it had acted")
			case err != nil && strings.Contains(err.Error(), "closed"):
				t.Errorf("it reads records that are closed: %v", err)
			}
		})
	}
}

// argument is a value of that type which names the delivery, or the group.
func argument(of reflect.Type, id string) reflect.Value {
	switch {
	case of.Kind() == reflect.String:
		return reflect.ValueOf(id)
	case of == reflect.TypeFor[operator.Send]():
		return reflect.ValueOf(operator.Send{Group: "family", Path: "/a.txt"})
	}
	return reflect.Zero(of)
}
