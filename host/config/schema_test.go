package config_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/config"
)

// node is as much of JSON Schema as the published schema uses.
type node struct {
	Schema      string          `json:"$schema"`
	ID          string          `json:"$id"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     any             `json:"default"`
	Ref         string          `json:"$ref"`
	Defs        map[string]node `json:"$defs"`
	Type        any             `json:"type"`
	Enum        []any           `json:"enum"`
	Properties  map[string]node `json:"properties"`
	Additional  any             `json:"additionalProperties"`
	Names       *node           `json:"propertyNames"`
	Items       *node           `json:"items"`
	Required    []string        `json:"required"`
	Pattern     string          `json:"pattern"`
	MinLength   int             `json:"minLength"`
	MaxLength   int             `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	Above       *float64        `json:"exclusiveMinimum"`
	MinProps    int             `json:"minProperties"`
}

func readSchema(t *testing.T) node {
	t.Helper()
	var n node
	d := json.NewDecoder(strings.NewReader(string(config.Schema(platforms()))))
	d.DisallowUnknownFields() // a keyword that the checks below would pass over
	if err := d.Decode(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Every key of the structs is in the schema, and no other.
func TestSchemaHasTheKeysOfTheStructs(t *testing.T) {
	n := readSchema(t)
	if n.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("draft %q", n.Schema)
	}
	sameKeys(t, "", reflect.TypeFor[config.Config](), n)
}

func sameKeys(t *testing.T, at string, typ reflect.Type, n node) {
	t.Helper()
	if n.Description == "" {
		t.Errorf("%s has no description", at)
	}
	switch {
	case typ.Kind() == reflect.Pointer:
		sameKeys(t, at, typ.Elem(), n)
	case typ == reflect.TypeFor[config.Secret]():
	case typ == reflect.TypeFor[config.Channels]():
		for _, p := range platforms() {
			sameKeys(t, at+"."+p.Key, reflect.TypeOf(p.Settings()), n.Properties[p.Key])
		}
	case typ.Kind() == reflect.Struct:
		if n.Additional != false {
			t.Errorf("%s takes unknown keys", at)
		}
		var keys []string
		for field := range typ.Fields() {
			key := field.Tag.Get("yaml")
			if key == "-" {
				continue
			}
			keys = append(keys, key)
			if key == "" {
				t.Errorf("%s: field %s has no key", at, field.Name)
			}
			if property, ok := n.Properties[key]; ok {
				sameKeys(t, at+"."+key, field.Type, property)
			}
		}
		slices.Sort(keys)
		if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(n.Properties))); diff != "" {
			t.Errorf("keys of %s: structs (-), schema (+)\n%s", at, diff)
		}
	case typ.Kind() == reflect.Slice:
		sameKeys(t, at+"[]", typ.Elem(), items(t, at, n))
	}
}

func items(t *testing.T, at string, n node) node {
	t.Helper()
	if n.Items == nil {
		t.Fatalf("%s has no items", at)
	}
	if n.Items.Description == "" {
		n.Items.Description = n.Description
	}
	return *n.Items
}

// What Parse takes, the schema takes; and what is wrong in form is wrong by
// both.
func TestSchemaAgreesWithParse(t *testing.T) {
	schema := readSchema(t)
	dir := configDir(t)
	for _, text := range []string{
		string(config.Example()),
		"channels: {web: {listen: '0.0.0.0:1', token: '${TOKEN}', upload: 16 MB, keep: 90d, history: 20GiB}}\n",
		"channels:\n  web:\n",
		"assistants:\n  a:\n  b: {env: {A: 1, B: true, C: x}, cpus: 0.5, idle_timeout: 1h30m}\n",
		"groups: [{folder: a, chat: 'web:a', limits: {image: 10MB, video: 300}, rate: {burst: 1}}]\n",
		"limits: {free_disk: 0, inbox: 0, keep_errors: 0s, keep_results: 30d, outbox: 1.5GiB}\n",
		"groups: []\n",
	} {
		if _, err := parse(t, dir, text); err != nil {
			t.Errorf("Parse refuses %q: %v", text, err)
		}
		for _, wrong := range check(schema, schema, "", decodeYAML(t, text)) {
			t.Errorf("the schema refuses %q: %s", text, wrong)
		}
	}
	for _, text := range []string{
		"nmae: x\n", "media_tools: on\n", "log: {level: loud}\n", "channels: {}\n", "channels: {web: {token: hunter2}}\n", "channels: {web: {upload: big}}\n", "channels: {web: {keep: long}}\n",
		"groups: x\n", "groups: [{name: a}]\n", "groups: [{folder: .., chat: 'web:a'}]\n", "limits: {pending: 0}\n", "limits: {wait: -1s}\n",
		"limits: {files: {films: 1MB}}\n", "assistants: {a: {agent: smith}}\n", "assistants: {a b: {}}\n", "assistants: {a: {cpus: 0}}\n", "mounts: {allow: [{write: true}]}\n",
	} {
		if _, err := parse(t, dir, text); err == nil {
			t.Errorf("Parse takes %q", text)
		}
		if len(check(schema, schema, "", decodeYAML(t, text))) == 0 {
			t.Errorf("the schema takes %q", text)
		}
	}
}

func TestSchemaDefaultsAreTheRealOnes(t *testing.T) {
	cfg, err := parse(t, configDir(t), "assistants: {a: }\n")
	if err != nil {
		t.Fatal(err)
	}
	n := readSchema(t).Properties
	limits, web, a := n["limits"].Properties, n["channels"].Properties["web"].Properties, cfg.Assistants["a"]
	for _, tt := range []struct {
		got  any
		want any
	}{
		{n["name"].Default, cfg.Name}, {n["layout"].Default, cfg.Style}, {n["media_tools"].Default, cfg.MediaTools}, {n["log"].Properties["level"].Default, cfg.Log.Level},
		{limits["pending"].Default, cfg.Limits.Pending}, {limits["sends"].Default, cfg.Limits.Sends}, {limits["assistants"].Default, cfg.Limits.Assistants},
		{limits["rate"].Properties["per_minute"].Default, cfg.Limits.Rate.PerMinute}, {limits["rate"].Properties["burst"].Default, cfg.Limits.Rate.Burst},
		{limits["outbox"].Default, cfg.Limits.Outbox}, {limits["free_disk"].Default, cfg.Limits.FreeDisk}, {limits["inbox"].Default, cfg.Limits.Inbox}, {limits["wait"].Default, cfg.Limits.Wait},
		{limits["keep_results"].Default, cfg.Limits.KeepResults}, {limits["keep_errors"].Default, cfg.Limits.KeepErrors},
		{limits["retry"].Properties["max_age"].Default, cfg.Limits.Retry.MaxAge}, {limits["retry"].Properties["first"].Default, cfg.Limits.Retry.First},
		{limits["retry"].Properties["max"].Default, cfg.Limits.Retry.Max},
		{web["listen"].Default, webOf(cfg).Listen}, {web["upload"].Default, webOf(cfg).Upload},
		{web["keep"].Default, webOf(cfg).Keep}, {web["history"].Default, webOf(cfg).History},
	} {
		if !sameValue(t, tt.got, tt.want) {
			t.Errorf("the schema says %v, Parse %v", tt.got, tt.want)
		}
	}
	additional, err := json.Marshal(n["assistants"].Additional)
	if err != nil {
		t.Fatal(err)
	}
	var assistant node
	if err := json.Unmarshal(additional, &assistant); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"runtime": a.Runtime, "agent": a.Agent, "image": a.Image, "network": a.Network, "idle_timeout": a.IdleTimeout,
		"turn_timeout": a.TurnTimeout, "memory": a.Memory, "cpus": a.CPUs, "pids": a.Pids} {
		if got := assistant.Properties[key].Default; !sameValue(t, got, want) {
			t.Errorf("assistants: %s: the schema says %v, Parse %v", key, got, want)
		}
	}
}

// sameValue compares a default of the schema with a value, both as the value's
// type reads them.
func sameValue(t *testing.T, got, want any) bool {
	t.Helper()
	text := fmt.Sprint(got)
	switch want := want.(type) {
	case config.Size:
		var s config.Size
		return s.UnmarshalText([]byte(text)) == nil && s == want
	case config.Duration:
		var d config.Duration
		return d.UnmarshalText([]byte(text)) == nil && d == want
	}
	return text == fmt.Sprint(want)
}

func decodeYAML(t *testing.T, text string) any {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// check is a validator for the keywords in node.
func check(root, n node, at string, v any) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	if n.Ref != "" {
		wrong = append(wrong, check(root, root.Defs[strings.TrimPrefix(n.Ref, "#/$defs/")], at, v)...)
	}
	if n.Type != nil && !slices.ContainsFunc(types(v), func(name string) bool { return slices.Contains(typeNames(n.Type), name) }) {
		bad("%v is no %v", v, n.Type)
		return wrong
	}
	if n.Enum != nil && !slices.Contains(n.Enum, v) {
		bad("%v is none of %v", v, n.Enum)
	}
	switch v := v.(type) {
	case string:
		if !regexp.MustCompile(n.Pattern).MatchString(v) || len(v) < n.MinLength || n.MaxLength > 0 && len(v) > n.MaxLength {
			bad("%q does not match", v)
		}
	case float64:
		if n.Minimum != nil && v < *n.Minimum || n.Maximum != nil && v > *n.Maximum || n.Above != nil && v <= *n.Above {
			bad("%v is out of bounds", v)
		}
	case []any:
		for i, element := range v {
			if n.Items != nil {
				wrong = append(wrong, check(root, *n.Items, fmt.Sprintf("%s[%d]", at, i), element)...)
			}
		}
	case map[string]any:
		wrong = append(wrong, checkObject(root, n, at, v)...)
	}
	return wrong
}

func checkObject(root, n node, at string, v map[string]any) (wrong []string) {
	for _, key := range n.Required {
		if _, ok := v[key]; !ok {
			wrong = append(wrong, at+": lacks "+key)
		}
	}
	if len(v) < n.MinProps {
		wrong = append(wrong, at+": too few keys")
	}
	for key, value := range v {
		inner := at + "." + key
		if n.Names != nil {
			wrong = append(wrong, check(root, *n.Names, inner, key)...)
		}
		if property, ok := n.Properties[key]; ok {
			wrong = append(wrong, check(root, property, inner, value)...)
			continue
		}
		switch additional := n.Additional.(type) {
		case bool:
			if !additional {
				wrong = append(wrong, inner+": unknown key")
			}
		case map[string]any:
			b, _ := json.Marshal(additional)
			var sub node
			if err := json.Unmarshal(b, &sub); err != nil {
				wrong = append(wrong, err.Error())
			}
			wrong = append(wrong, check(root, sub, inner, value)...)
		}
	}
	return wrong
}

func typeNames(t any) []string {
	if name, ok := t.(string); ok {
		return []string{name}
	}
	var names []string
	for _, name := range t.([]any) {
		names = append(names, name.(string))
	}
	return names
}

func types(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case float64:
		if v == float64(int64(v)) {
			return []string{"number", "integer"}
		}
		return []string{"number"}
	case []any:
		return []string{"array"}
	}
	return []string{"object"}
}
