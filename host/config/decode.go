package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/longshore-bridge/longshore/groups"
)

// decode reads the YAML into cfg and notes where each key stands. Unlike the
// library's own decoder it goes on after a problem, so that all unknown keys
// and bad values are told at once. It returns false when the text is no YAML
// or holds what a configuration does not need: several documents, anchors and
// tags.
func (s *source) decode(cfg *Config) bool {
	file, err := parser.ParseBytes(s.text, 0)
	if err != nil {
		s.syntax(err)
		return false
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			s.badAt(doc.Body.GetToken().Position, "", "a second document starts here", "keep everything in one document, without ---")
			return false
		}
		body = doc.Body
	}
	if body != nil {
		s.value("", body, reflect.ValueOf(cfg).Elem())
	}
	return true
}

func (s *source) syntax(err error) {
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		s.bad("", "this is no YAML", "see docs/configuration.md for an example")
		return
	}
	// The library's own excerpt would show whole lines, secrets included; and
	// what looks like a key here may be part of a value.
	pos := *known.GetToken().Position
	pos.Column = 1
	message, hint := syntaxWords(known.GetMessage())
	s.badAt(&pos, "", message, hint)
}

// twice is how the library speaks of a key that stands twice in one block.
var twice = regexp.MustCompile(`^mapping key "(.*)" already defined at \[(\d+):`)

// syntaxWords says in our words what the library found, where it has found what
// people often get wrong.
func syntaxWords(found string) (message, hint string) {
	line, _, _ := strings.Cut(found, "\n")
	if m := twice.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("key %q is given twice, first on line %s", m[1], m[2]), "leave one of the two out"
	}
	if strings.Contains(line, "'\t'") {
		return "a tab cannot indent", "indent with spaces"
	}
	return line, "indent what belongs together alike; a value with a colon, #, @ or a quote in it needs quotes"
}

// value puts node into v, whose key path is key.
func (s *source) value(key string, node ast.Node, v reflect.Value) {
	switch node := node.(type) {
	case *ast.NullNode:
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		s.badAt(node.GetToken().Position, key, "anchors, aliases and tags are not used here", "write the value out")
	case *ast.MappingNode:
		s.mapping(key, node, node.Values, v)
	case *ast.MappingValueNode:
		s.mapping(key, node, []*ast.MappingValueNode{node}, v)
	case *ast.SequenceNode:
		if v.Kind() != reflect.Slice {
			s.wrong(key, node, v.Type())
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(node.Values), len(node.Values)))
		for i, element := range node.Values {
			at := fmt.Sprintf("%s[%d]", key, i)
			s.places[at] = start(element)
			s.value(at, element, v.Index(i))
		}
	default:
		s.scalar(key, node, v)
	}
}

func (s *source) mapping(key string, node ast.Node, entries []*ast.MappingValueNode, v reflect.Value) {
	isStruct := v.Kind() == reflect.Struct && !isText(v)
	if !isStruct && v.Kind() != reflect.Map {
		s.wrong(key, node, v.Type())
		return
	}
	if v.Kind() == reflect.Map {
		v.Set(reflect.MakeMapWithSize(v.Type(), len(entries)))
	}
	for _, entry := range entries {
		name := entry.Key.GetToken()
		at := strings.TrimPrefix(key+"."+name.Value, ".")
		s.places[at] = name.Position
		if !isStruct {
			s.element(at, name.Value, entry.Value, v)
			continue
		}
		field, ok := fieldOf(v, name.Value)
		if !ok {
			s.badAt(name.Position, "", fmt.Sprintf("unknown key %q", name.Value), "known here: "+strings.Join(keysOf(v.Type()), ", "))
			continue
		}
		if all, ok := field.Addr().Interface().(*Channels); ok {
			s.channels(at, entry.Value, all)
			continue
		}
		s.value(at, entry.Value, field)
	}
}

// element puts node into the map v under name.
func (s *source) element(key, name string, node ast.Node, v reflect.Value) {
	t := v.Type().Elem()
	if v.Type() == reflect.TypeFor[groups.KindLimits]() { // written as sizes, kept as plain numbers
		t = reflect.TypeFor[Size]()
	}
	element := newWithDefaults(t).Elem()
	s.value(key, node, element)
	v.SetMapIndex(reflect.ValueOf(name), element.Convert(v.Type().Elem()))
}

// scalar leaves the conversion to the library.
func (s *source) scalar(key string, node ast.Node, v reflect.Value) {
	if v.Kind() == reflect.Map || v.Kind() == reflect.Slice || v.Kind() == reflect.Struct && !isText(v) {
		s.wrong(key, node, v.Type())
		return
	}
	target := v.Addr().Interface()
	if text, ok := target.(encoding.TextUnmarshaler); ok {
		if err := text.UnmarshalText([]byte(scalarText(node))); err != nil {
			s.bad(key, err.Error(), "")
		}
		return
	}
	if v.Kind() == reflect.String {
		v.SetString(scalarText(node))
		return
	}
	if err := yaml.NodeToValue(node, target); err != nil {
		s.wrong(key, node, v.Type())
	}
}

// scalarText is a scalar as it was written, so that a folder 007 stays so,
// quotes and block forms resolved.
func scalarText(node ast.Node) string {
	switch node := node.(type) {
	case *ast.StringNode:
		return node.Value
	case *ast.LiteralNode:
		return node.Value.Value
	}
	return node.GetToken().Value
}

func (s *source) wrong(key string, node ast.Node, want reflect.Type) {
	hint := ""
	if want.Kind() == reflect.Slice && node.Type() == ast.StringType {
		hint = "write it in brackets: [one, two]"
	}
	s.bad(key, fmt.Sprintf("%s is expected here, not %s", kindWords(want), nodeWords(node)), hint)
}

// nodeWords says what stands in the file as kindWords says what should.
func nodeWords(node ast.Node) string {
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a block of keys"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	}
	return "a text"
}

func kindWords(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a block of keys"
	case reflect.Struct:
		if t == reflect.TypeFor[Secret]() {
			return "a text"
		}
		return "a block of keys"
	}
	return "a number"
}

// start is the place of a list's element: of its first key, where it has some.
func start(node ast.Node) *token.Position {
	switch node := node.(type) {
	case *ast.MappingNode:
		if len(node.Values) > 0 {
			return node.Values[0].Key.GetToken().Position
		}
	case *ast.MappingValueNode:
		return node.Key.GetToken().Position
	}
	return node.GetToken().Position
}

// newWithDefaults is a pointer to a new t, filled in where t has defaults.
func newWithDefaults(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if d, ok := v.Interface().(interface{ setDefaults() }); ok {
		d.setDefaults()
	}
	return v
}

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag == key && tag != "-" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// keysOf lists the keys of a struct.
func keysOf(t reflect.Type) []string {
	var keys []string
	for field := range t.Fields() {
		if tag := field.Tag.Get("yaml"); tag != "" && tag != "-" {
			keys = append(keys, tag)
		}
	}
	slices.Sort(keys)
	return keys
}
