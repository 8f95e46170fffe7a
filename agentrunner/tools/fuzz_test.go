package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

// Models write arguments in forms that no schema has.
func FuzzArgumentsAreTakenOrExplained(f *testing.F) {
	for _, arguments := range []string{
		`{"question":"q","choices":["a","b"]}`, `{"question":"q","choices":"[\"a\",\"b\"]"}`, `{"question":"q","choices":"a, b"}`,
		`{"question":7}`, `{"id":1}`, `[]`, `null`, `{"choices":"["}`, `{"choices":[[1]],"question":"","wait_seconds":1e99}`, `{"several":"yes"}`,
	} {
		f.Add(arguments)
	}
	expected := shape{Required: []string{"choices", "question"}, Properties: map[string]property{
		"question": {"string"}, "choices": {"array"}, "several": {"boolean"}, "open_seconds": {"integer"}, "wait_seconds": {"integer"}}}
	f.Fuzz(func(t *testing.T, arguments string) {
		var given any
		if json.Unmarshal([]byte(arguments), &given) != nil {
			t.Skip("no client could send it")
		}
		var args AskArgs
		err := bind("ask", expected, given, &args)
		if err != nil && !strings.Contains(err.Error(), "ask") {
			t.Errorf("%s: %v", arguments, err)
		}
		if err == nil && args.Choices == nil {
			t.Errorf("%s: taken without choices", arguments)
		}
	})
}
