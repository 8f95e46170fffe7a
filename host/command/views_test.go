package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/notify"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// namesOfFindings are those of package finding's own list, and the causes of assistants.
func namesOfFindings(t *testing.T) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../internal/finding/names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, name)
		}
		return true
	})
	for _, c := range cause.All() {
		all = append(all, string(c))
	}
	if len(all) < 40 {
		t.Fatalf("only %d names: this test no longer sees them", len(all))
	}
	return all
}

// finds has one finding of a name, as a part of a host.
type finds finding.Finding

func (o finds) Findings(context.Context) []finding.Finding {
	return []finding.Finding{finding.Finding(o)}
}
func (finds) Examine(context.Context) []finding.Finding { return nil }

// TestEveryFindingIsTheSameInEveryView: five judges of one host disagreed.
func TestEveryFindingIsTheSameInEveryView(t *testing.T) {
	docs := stage.Read(t, "../../docs/operations.md")
	for _, name := range namesOfFindings(t) {
		if name == finding.OK {
			continue
		}
		if !strings.Contains(docs, "`"+name+"`") {
			t.Errorf("docs/operations.md does not name %s", name)
		}
		f := finding.Finding{Name: name, Part: "group family", Severity: finding.Fault, Cause: "the cause of " + name, Remedy: "the remedy of " + name}
		local := operator.NewLocal(operator.Options{Layout: groups.Layout{State: t.TempDir()}, Parts: finds(f)})
		all, _ := local.Findings(t.Context(), true)
		status, err := local.Status(t.Context())
		stage.Must(t, err)
		page, err := operator.Look(t.Context(), local)
		stage.Must(t, err)
		overview, err := json.Marshal(page)
		stage.Must(t, err)
		printed := func(print func(*env) error) string {
			var out bytes.Buffer
			stage.Must(t, print(&env{Terminal: terminal.Terminal{Stdout: &out}}))
			return out.String()
		}
		monitor := func(path string) string {
			w := httptest.NewRecorder()
			local.Health().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w.Body.String()
		}
		for view, said := range map[string]string{
			"doctor":       printed(func(e *env) error { return e.printFindings(all) }),
			"status":       printed(func(e *env) error { return e.printStatus(status) }),
			"why":          printed(func(e *env) error { return (&why{env: e, findings: all}).print() }),
			"the page":     string(overview),
			"/healthz":     monitor("/healthz"),
			"/readyz":      monitor("/readyz"),
			"notification": notify.Message{Kind: notify.Began, Fault: f}.Text(),
		} {
			if !strings.Contains(said, f.Cause) || !strings.Contains(said, f.Remedy) {
				t.Errorf("%s says of %s:\n%s", view, name, said)
			}
		}
		if want := fmt.Sprintf(`longshore_finding{name="%s",part="group family"} 1`, name); !strings.Contains(monitor("/metrics"), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
