package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
)

//go:embed longshore.schema.json
var schema []byte

//go:embed longshore.example.yaml
var example []byte

// Schema is the JSON Schema (draft 2020-12) of longshore.yaml, for editors. It
// knows forms, not what Parse alone can tell: that two groups have one chat,
// that a mount is not in the allowlist. The platforms bring the part on their
// settings.
func Schema(platforms []channel.Platform) []byte {
	var parts, keys []string
	for _, p := range platforms {
		var part bytes.Buffer
		if err := json.Indent(&part, bytes.TrimSpace(p.Schema), "        ", "  "); err != nil {
			continue // a test of the table tells
		}
		keys = append(keys, strconv.Quote(p.Key))
		parts = append(parts, "        "+strconv.Quote(p.Key)+": "+part.String())
	}
	filled := `"properties": {` + "\n" + strings.Join(parts, ",\n") + "\n      }"
	types := `"enum": [` + strings.Join(keys, ", ") + "]"
	whole := bytes.Replace(schema, []byte(`"properties": {}`), []byte(filled), 1)
	return bytes.Replace(whole, []byte(`"enum": []`), []byte(types), 1)
}

// Example is a commented longshore.yaml that Parse accepts: the web page, the
// sample assistant and one group.
func Example() []byte { return slices.Clone(example) }
