package groups

import (
	_ "embed"
	"slices"
)

//go:embed longshore.schema.json
var schema []byte

//go:embed longshore.example.yaml
var example []byte

// Schema is the JSON Schema (draft 2020-12) of longshore.yaml, for editors. It
// knows forms, not what Parse alone can tell: that two groups have one chat,
// that a mount is not in the allowlist.
func Schema() []byte { return slices.Clone(schema) }

// Example is a commented longshore.yaml that Parse accepts: the web page, the
// sample assistant and one group.
func Example() []byte { return slices.Clone(example) }
