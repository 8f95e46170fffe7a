package config

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

//go:embed longshore.example.yaml
var example []byte

// Example is a commented longshore.yaml that Parse accepts: the web page, the
// sample assistant and one group.
func Example() []byte { return slices.Clone(example) }

// node is a part of a JSON Schema.
type node map[string]any

// Schema is the JSON Schema (draft 2020-12) of longshore.yaml, for editors. It
// is made from the fields that Parse decodes into. It describes forms only. Parse
// also checks the meaning, for example that no two groups have the same chat.
func Schema(platforms []channel.Platform) []byte {
	s := schema{platforms}
	whole := s.block(reflect.ValueOf(defaults()))
	maps.Copy(whole, node{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "longshore.yaml",
		"description": "Configuration of a Longshore host. Relative paths start at the file.",
	})
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(whole); err != nil {
		panic(err) // a map of texts and numbers can be encoded
	}
	return text.Bytes()
}

// schema describes values that hold their defaults.
type schema struct{ platforms []channel.Platform }

// field describes the value of a field.
func (s schema) field(v reflect.Value, tag reflect.StructTag) node {
	n := s.value(v, tag)
	if help := tag.Get("help"); help != "" {
		n["description"] = help
	}
	_, size := v.Interface().(Size)
	_, duration := v.Interface().(Duration)
	if size || duration || v.Kind() == reflect.Bool || v.Comparable() && v.Kind() != reflect.Struct && !v.IsZero() {
		n["default"] = inFile(v)
	}
	return n
}

// inFile returns a default as the file would have it.
func inFile(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case Size:
		return strings.NewReplacer(".0 ", "", " ", "").Replace(value.String())
	case Duration:
		const day = 24 * time.Hour
		if days := value.Std() / day; days > 1 && value.Std()%day == 0 {
			return fmt.Sprintf("%dd", days)
		}
		text := strings.Replace(value.String(), "m0s", "m", 1)
		return strings.Replace(text, "h0m", "h", 1)
	}
	return v.Interface()
}

func (s schema) value(v reflect.Value, tag reflect.StructTag) node {
	switch t := v.Type(); {
	case t == reflect.TypeFor[Channels]():
		return s.channels()
	case t == reflect.TypeFor[groups.KindLimits]():
		kinds := node{}
		for _, kind := range kindNames() {
			kinds[kind] = s.value(reflect.ValueOf(Size(0)), ofKinds)
			kinds[kind].(node)["description"] = "Bytes of one " + kind + " file."
		}
		return node{"type": []string{"object", "null"}, "additionalProperties": false, "properties": kinds}
	case t == reflect.TypeFor[groups.Who]():
		return node{"type": []string{"string", "integer", "array", "null"}, "items": node{"type": []string{"string", "integer"}}}
	case t == reflect.TypeFor[groups.Actions]():
		return node{"type": []string{"string", "array", "null"}, "items": node{"type": "string", "enum": groups.ActionWords()}}
	case t == reflect.TypeFor[groups.Engines]():
		return node{"type": []string{"string", "array", "null"}, "items": node{"type": "string"}}
	case t == reflect.TypeFor[Size]():
		return node{"type": []string{"string", "integer"}, "minimum": 0, "pattern": "^[0-9][0-9.,]* ?([kKmMgGtTpPeE]i?)?[bB]?$"}
	case t == reflect.TypeFor[Duration]():
		return node{"type": []string{"string", "integer"}, "pattern": "^([0-9]+d|0|([0-9.]+(ns|us|µs|ms|s|m|h))+)$"}
	case t == reflect.TypeFor[ProviderTools]():
		n := s.block(v)
		n["type"] = []string{"boolean", "object", "null"}
		return n
	case t == reflect.TypeFor[State](), t == reflect.TypeFor[Files]():
		n := s.block(v)
		n["type"] = []string{"string", "object", "null"}
		return n
	case t == reflect.TypeFor[Secret]():
		return node{"type": "string", "pattern": envReference.String()}
	case t.Kind() == reflect.Struct:
		return s.block(v)
	case t.Kind() == reflect.Slice:
		return node{"type": "array", "items": s.value(newWithDefaults(t.Elem()).Elem(), tag)}
	case t.Kind() == reflect.Map:
		return s.table(t, tag)
	default:
		return scalarForm(t, tag)
	}
}

// scalarForm describes a text, a number, or true and false.
func scalarForm(t reflect.Type, tag reflect.StructTag) node {
	names := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number"}
	n := node{"type": names[t.Kind()]}
	if f, ok := forms[tag.Get("form")]; ok {
		maps.Copy(n, f.schema())
	}
	if enum := tag.Get("enum"); enum != "" {
		n["enum"] = strings.Split(enum, ",")
	}
	for name, keyword := range map[string]string{"above": "exclusiveMinimum", "min": "minimum", "max": "maximum"} {
		if b := tag.Get(name); b != "" {
			n[keyword] = bound(b, t)
		}
	}
	if tag.Get("required") != "" {
		n["minLength"] = 1
	}
	return n
}

// block describes a struct.
func (s schema) block(v reflect.Value) node {
	properties, required := node{}, []string{}
	for field, value := range v.Fields() {
		key := field.Tag.Get("yaml")
		if key == "-" {
			continue
		}
		properties[key] = s.field(value, field.Tag)
		if field.Tag.Get("required") != "" {
			required = append(required, key)
		}
	}
	n := node{"type": []string{"object", "null"}, "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		n["required"] = required
	}
	return n
}

// table describes a map whose keys are the operator's own.
func (s schema) table(t reflect.Type, tag reflect.StructTag) node {
	each := node{"type": []string{"string", "number", "boolean", "null"}}
	if t.Elem().Kind() == reflect.Struct && t.Elem() != reflect.TypeFor[Secret]() {
		each = s.value(newWithDefaults(t.Elem()).Elem(), "")
	}
	return node{"type": []string{"object", "null"}, "propertyNames": forms[tag.Get("keys")].schema(), "additionalProperties": each}
}

// channels describes the platforms' settings, below their own keys and, with a
// type, below the name of a further account.
func (s schema) channels() node {
	own, keys, named := node{}, []string{}, []node{}
	for _, p := range s.platforms {
		settings := s.block(reflect.ValueOf(p.Settings()).Elem())
		settings["description"] = p.Help()
		own[p.Key()] = settings
		keys = append(keys, p.Key())
		with := maps.Clone(settings["properties"].(node))
		with[typeKey] = node{"const": p.Key(), "description": "The platform."}
		then := maps.Clone(settings)
		then["properties"] = with
		named = append(named, node{"if": node{"properties": node{typeKey: node{"const": p.Key()}}}, "then": then})
	}
	return node{"type": "object", "minProperties": 1, "properties": own, "additionalProperties": node{
		"description": "A further account of a platform, under a name of its own: its type, and the settings of that platform.",
		"type":        "object", "required": []string{typeKey}, "properties": node{typeKey: node{"type": "string", "enum": keys}}, "allOf": named,
	}}
}

// schema is the pattern as JSON Schema states it.
func (p pattern) schema() node {
	n := node{"pattern": p.expression().String()}
	if p.most > 0 {
		n["maxLength"] = p.most
	}
	return n
}
