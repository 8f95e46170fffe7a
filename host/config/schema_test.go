package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/longshore-bridge/longshore/host/config"
)

// node is a part of the schema, as far as its keys go.
type node struct {
	Description string          `json:"description"`
	Default     any             `json:"default"`
	Properties  map[string]node `json:"properties"`
	Additional  any             `json:"additionalProperties"`
	Items       *node           `json:"items"`
}

func readSchema(t *testing.T) (n node) {
	t.Helper()
	if err := json.Unmarshal(config.Schema(platforms()), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// validator is the schema as an editor reads it.
func validator(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema(platforms())))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft4) // the schema itself has to name its draft
	if err := compiler.AddResource("longshore.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("longshore.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if schema.DraftVersion != 2020 {
		t.Errorf("draft %d", schema.DraftVersion)
	}
	return schema
}

// An editor shows a description of each key.
func TestSchemaDescribesEveryKey(t *testing.T) {
	var described func(at string, n node)
	described = func(at string, n node) {
		if n.Description == "" {
			t.Errorf("%s has no description", at)
		}
		if n.Items != nil {
			n.Properties = n.Items.Properties
		}
		if n.Properties != nil && n.Items == nil && n.Additional == nil {
			t.Errorf("%s takes unknown keys", at)
		}
		for key, property := range n.Properties {
			described(at+"."+key, property)
		}
	}
	described("", readSchema(t))
}

// What Parse takes, the schema takes; and what is wrong in form is wrong by
// both.
func TestSchemaAgreesWithParse(t *testing.T) {
	schema := validator(t)
	dir := configDir(t)
	for _, text := range []string{
		string(config.Example()),
		"channels: {web: {listen: '0.0.0.0:1', token: '${TOKEN}', upload: 16 MB, keep: 90d, history: 20GiB}}\n",
		"channels:\n  web:\n", "channels:\n  web-two: {type: web, keep: 90d}\n",
		"assistants:\n  a:\n  b: {env: {A: 1, B: true, C: x}, cpus: 0.5, idle_timeout: 1h30m}\n",
		"groups: [{folder: a, chat: 'web:a', limits: {image: 10MB, video: 300}, rate: {burst: 1}}]\n",
		"limits: {free_disk: 0, inbox: 0, keep_errors: 0s, keep_results: 30d, outbox: 1.5GiB}\n",
		"groups: []\n", "name: " + strings.Repeat("ä", 100) + "\n",
	} {
		if _, err := parse(t, dir, text); err != nil {
			t.Errorf("Parse refuses %q: %v", text, err)
		}
		if err := schema.Validate(decodeYAML(t, text)); err != nil {
			t.Errorf("the schema refuses %q: %v", text, err)
		}
	}
	for _, text := range []string{
		"nmae: x\n", "media_tools: on\n", "log: {level: loud}\n", "channels: {}\n", "channels: {web: {token: hunter2}}\n", "channels: {web: {upload: big}}\n", "channels: {web: {keep: long}}\n",
		"channels: {two: {type: web, kepp: 1d}}\n", "channels: {two: {keep: 1d}}\n", "channels: {two: {type: irc}}\n", "name: A\u202e\n", "name: " + strings.Repeat("ä", 101) + "\n",
		"groups: x\n", "groups: [{name: a}]\n", "groups: [{folder: .., chat: 'web:a'}]\n", "limits: {pending: 0}\n", "limits: {wait: -1s}\n", "groups: [{folder: a, chat: 'web:a', rate: {burst: 0}}]\n",
		"limits: {files: {films: 1MB}}\n", "assistants: {a: {agent: smith}}\n", "assistants: {a b: {}}\n", "assistants: {a: {cpus: 0}}\n", "mounts: {allow: [{write: true}]}\n",
	} {
		if _, err := parse(t, dir, text); err == nil {
			t.Errorf("Parse takes %q", text)
		}
		if schema.Validate(decodeYAML(t, text)) == nil {
			t.Errorf("the schema takes %q", text)
		}
	}
}

// The defaults that an editor shows are written as the file would have them,
// and mean what an absent key means.
func TestSchemaDefaultsAreTheRealOnes(t *testing.T) {
	n := readSchema(t).Properties
	limits, page := n["limits"].Properties, n["channels"].Properties["web"].Properties
	shown := fmt.Sprintln(n["name"].Default, n["layout"].Default, n["media_tools"].Default, n["log"].Properties["level"].Default,
		limits["pending"].Default, limits["rate"].Properties["per_minute"].Default, limits["outbox"].Default, limits["wait"].Default,
		limits["keep_results"].Default, limits["retry"].Properties["max_age"].Default, limits["retry"].Properties["first"].Default,
		page["listen"].Default, page["upload"].Default, page["keep"].Default, page["history"].Default)
	if want := "Andy longshore confined info 64 20 256MiB 45s 7d 24h 1s 127.0.0.1:8420 100MiB 365d 0B\n"; shown != want {
		t.Errorf("defaults\n%s, want\n%s", shown, want)
	}
	dir := configDir(t)
	absent, err := parse(t, dir, "assistants: {a: }\ngroups: [{folder: a, chat: 'web:a'}]\n")
	if err != nil {
		t.Fatal(err)
	}
	var written strings.Builder
	for _, key := range []string{"name", "state", "layout", "project", "media_tools", "log", "limits"} {
		write(t, &written, key, n[key], "")
	}
	cfg, err := parse(t, dir, written.String()+"assistants: {a: }\ngroups: [{folder: a, chat: 'web:a'}]\n")
	if err != nil {
		t.Fatalf("%s: %v", written.String(), err)
	}
	if got, want := show(t, cfg), show(t, absent); got != want {
		t.Errorf("with every default written:\n%s, without:\n%s", got, want)
	}
}

// write puts a key with its default, or with those of the keys below, into a
// file.
func write(t *testing.T, file *strings.Builder, key string, n node, indent string) {
	t.Helper()
	if n.Default != nil {
		fmt.Fprintf(file, "%s%s: %v\n", indent, key, n.Default)
	} else if key != "files" {
		fmt.Fprintf(file, "%s%s:\n", indent, key)
	}
	for name, property := range n.Properties {
		if key != "files" {
			write(t, file, name, property, indent+"  ")
		}
	}
}

func show(t *testing.T, cfg *config.Config) string {
	t.Helper()
	text, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func decodeYAML(t *testing.T, text string) any {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
