package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// mayBeFunctions are the fields of host's structs that hold a function, each with the reason
// why an interface or a method would not read better. A field that is gone leaves the list.
var mayBeFunctions = map[string]string{
	"host/serve Options.Trace":                  "the demo's and the tests' eye on each step: most hosts have none",
	"host/outbox Options.Trace":                 "the same",
	"host/serve Options.Getenv":                 "os.Getenv, or a test's",
	"host/channel/memory Options.Script":        "a test's plan of faults, written beside what the test expects",
	"host/channel/transfer Progress.tell":       "channel.Message.Progress, which the outbox writes where it sends; nil when stopped",
	"host/store change.run":                     "a transaction is what its caller does in it",
	"host/store change.after":                   "what the same caller does once that is durable",
	"host/postgres beside.step":                 "a coroutine is functions in Go: what iter.Pull returns",
	"host/postgres beside.stop":                 "the same",
	"host/postgres beside.pause":                "what iter.Pull hands to the coroutine",
	"host/postgres Writer.pause":                "the same, of the change that runs now",
	"host/bridge Options.Trace":                 "benchmarks and tests alone fill it, with a function literal",
	"host/runtime Parser.Emit":                  "each output goes to its session; an interface would have this method alone",
	"host/runtime/docker BuildOptions.Progress": "a line of the build for whoever waits; optional",
	"host/runtime/docker isolated.end":          "Access.Admit hands over what ends the access, as context.WithCancel does",
	"host/httpd Server.Ending":                  "what Run of the page ends before the server waits for its requests",
	"host/tasks Options.Now":                    "the wall clock may be set back, which no bubble of synctest can",
	"host/engines Options.Getenv":               "os.Getenv, or a test's environment",
	"host/doctor Doctor.Getenv":                 "os.Getenv, or a test's environment",
	"host/command env.getenv":                   "os.Getenv, or a test's environment",
	"host/config checker.env":                   "os.Getenv, a test's, or the importer's, which hides v1's tokens",
	"host/config pattern.expression":            "what sync.OnceValue returns: it compiles the expression when it is first used",
	"host/nanoclaw Options.Getenv":              "os.Getenv, or a test's environment",
}

// TestStructsAreNotBagsOfFunctions counts the fields that hold a function in what the program
// consists of. Whoever reads a call of such a field has to look for who filled it.
func TestStructsAreNotBagsOfFunctions(t *testing.T) {
	reasons := map[string]bool{}
	for dir, names := range packages(t) {
		if !strings.HasPrefix(dir+"/", "host/") || strings.HasSuffix(dir, "test") {
			continue
		}
		without := 0
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range functionFields(f) {
				at := dir + " " + field
				if mayBeFunctions[at] == "" {
					without++
				}
				reasons[at] = true
			}
		}
		if without > 0 {
			t.Errorf("%s has %d fields that hold functions: name what they do with an interface, or add each with its reason", dir, without)
		}
	}
	for at := range mayBeFunctions {
		if !reasons[at] {
			t.Errorf("%s is on the list and holds no function", at)
		}
	}
	if len(mayBeFunctions) > 30 {
		t.Errorf("%d fields hold functions, more than 30", len(mayBeFunctions))
	}
}

// functionFields are the fields of a file's named structs that hold a function: "Type.Field".
func functionFields(f *ast.File) []string {
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			if _, ok := field.Type.(*ast.FuncType); !ok {
				continue
			}
			for _, name := range field.Names {
				found = append(found, fmt.Sprintf("%s.%s", spec.Name.Name, name.Name))
			}
		}
		return true
	})
	return found
}
