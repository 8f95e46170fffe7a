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
	"github.com/longshore-bridge/longshore/internal/near"
)

// decode reads the YAML into cfg and records the place of each key. Unlike the
// library's own decoder it continues after a problem, so that it reports all unknown
// keys and bad values at once. It returns false if the text is not YAML or has
// several documents.
func (s *source) decode(cfg *Config) bool {
	if !s.encoded() {
		return false
	}
	if line := tooDeep(string(s.text)); line > 0 {
		s.badAt(&token.Position{Line: line, Column: 1}, "", "too many lists or blocks stand in one another", "close what the line opens; see docs/configuration.md for an example")
		return false
	}
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
			s.badAt(start(doc.Body), "", "a second document starts here", "keep everything in one document, without ---")
			return false
		}
		body = doc.Body
	}
	if body != nil {
		s.value("", body, reflect.ValueOf(cfg).Elem(), "")
	}
	return true
}

// maxDepth is how many lists and blocks may stand in one another. The library's
// memory grows with the square of that.
const maxDepth = 200

// tooDeep is the line on which more is open than that; 0: none is. It counts
// brackets in texts too, so it is for a file that is none of ours.
func tooDeep(text string) int {
	brackets := 0
	for i, line := range strings.Split(text, "\n") {
		rest := strings.TrimLeft(line, " \t-?")
		if strings.Count(line[:len(line)-len(rest)], "- ") > maxDepth {
			return i + 1
		}
		for _, r := range rest {
			switch r {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets = max(0, brackets-1)
			}
			if brackets > maxDepth {
				return i + 1
			}
		}
	}
	return 0
}

func (s *source) syntax(err error) {
	var known yaml.Error
	if !errors.As(err, &known) || known.GetToken() == nil {
		s.bad("", "this is no YAML", "see docs/configuration.md for an example")
		return
	}
	// The library's own excerpt would show whole lines, secrets included.
	message, hint := syntaxWords(known.GetMessage())
	s.badAt(known.GetToken().Position, "", message, hint)
}

// twice matches the library's message about a key that a block has twice.
var twice = regexp.MustCompile(`^mapping key "(.*)" already defined at \[(\d+):`)

// syntaxWords rewords the library's message if it is about a common mistake.
func syntaxWords(found string) (message, hint string) {
	line, _, _ := strings.Cut(found, "\n")
	if m := twice.FindStringSubmatch(line); m != nil {
		return fmt.Sprintf("key %q is given twice, first on line %s", m[1], m[2]), "leave one of the two out"
	}
	if strings.Contains(line, "'\t'") {
		return "a tab cannot indent", "indent with spaces"
	}
	for said, expected := range map[string]string{
		"',' or '}' must be specified": "expected , or } here, since a { above is open", "',' or ']' must be specified": "expected , or ] here, since a [ above is open",
		"flow mapping end token '}'": "expected the } of this {", "sequence end token ']'": "expected the ] of this [",
		"end character of double-quoted": `expected the closing " of this text`, "end character of single-quoted": "expected the closing ' of this text",
		"value is not allowed in this context": "expected a line at the indent of the block above: this one begins at another column, or the line above already has a value",
	} {
		if strings.Contains(line, said) {
			line = expected
		}
	}
	return line, "indent what belongs together alike, and close every [ and {; a value with a colon, #, @ or a quote in it needs quotes"
}

// value puts node into v, whose key path is key and whose field has the tags.
func (s *source) value(key string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	switch node := node.(type) {
	case *ast.NullNode:
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		s.bad(key, "anchors, aliases and tags are not used here", "write the value out")
	case *ast.MappingNode, *ast.MappingValueNode:
		switch {
		case v.Kind() == reflect.Map:
			s.table(key, node, v, tag)
		case v.Kind() == reflect.Struct && (!isText(v) || len(keysOf(v.Type())) > 0):
			s.block(key, node, v)
		default:
			s.mismatch(key, node, v.Type())
		}
	case *ast.SequenceNode:
		if v.Kind() != reflect.Slice {
			s.mismatch(key, node, v.Type())
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(node.Values), len(node.Values)))
		for i, element := range node.Values {
			at := fmt.Sprintf("%s[%d]", key, i)
			s.note(at, start(element), element, visible(v.Type().Elem(), tag, element))
			v.Index(i).Set(newWithDefaults(v.Type().Elem()).Elem())
			s.value(at, element, v.Index(i), tag)
		}
	default:
		s.scalar(key, node, v, tag)
	}
}

// entriesOf returns the keys of a block with their values. The library has another
// kind of node for a block of one key.
func entriesOf(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

// block puts node into the struct v: each key is a field.
func (s *source) block(key string, node ast.Node, v reflect.Value) {
	for _, entry := range entriesOf(node) {
		name := entry.Key.GetToken()
		at := strings.TrimPrefix(key+"."+name.Value, ".")
		field, known := fieldOf(v.Type(), name.Value)
		if !known {
			s.unknown(at, name, entry.Value, v.Type())
			continue
		}
		s.note(at, name.Position, entry.Value, visible(field.Type, field.Tag, entry.Value))
		inner := v.FieldByIndex(field.Index)
		if all, ok := inner.Addr().Interface().(*Channels); ok {
			s.channels(at, entry.Value, all)
			continue
		}
		s.value(at, entry.Value, inner, field.Tag)
	}
	s.required(key, v)
}

// unknown rejects a key that t does not have. The value is never shown: it may be a
// secret under a misspelt key.
func (s *source) unknown(at string, name *token.Token, value ast.Node, t reflect.Type) {
	known := keysOf(t)
	meant, _ := fieldOf(t, near.Of(name.Value, known))
	s.note(at, name.Position, value, meant.Type != nil && visible(meant.Type, meant.Tag, value))
	hint := "known here: " + strings.Join(known, ", ")
	if now := formerNames[name.Value]; slices.Contains(known, now) {
		hint = fmt.Sprintf("did you mean %q? %s", now, hint)
	} else {
		hint = near.Hint(name.Value, known, hint)
	}
	s.badAt(name.Position, "", fmt.Sprintf("unknown key %q", name.Value), hint)
}

// formerNames are the keys that got another name.
var formerNames = map[string]string{"door": "remote", "patience": "notice_after"}

// table puts node into the map v, whose keys are the operator's own.
func (s *source) table(key string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	t := v.Type().Elem()
	kinds := v.Type() == reflect.TypeFor[groups.KindLimits]()
	if kinds { // written as sizes, kept as plain numbers
		t, tag = reflect.TypeFor[Size](), ofKinds
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, entry := range entriesOf(node) {
		name := entry.Key.GetToken()
		at := key + "." + name.Value
		s.note(at, name.Position, entry.Value, visible(t, tag, entry.Value))
		if known := kindNames(); kinds && !slices.Contains(known, name.Value) {
			s.badKey(at, fmt.Sprintf("%q is no kind of file", name.Value), near.Hint(name.Value, known, "the kinds are "+strings.Join(known, ", ")))
		}
		s.keyConforms(at, name.Value, tag)
		element := newWithDefaults(t).Elem()
		s.value(at, entry.Value, element, tag)
		v.SetMapIndex(reflect.ValueOf(name.Value), element.Convert(v.Type().Elem()))
	}
}

// scalar puts a single value into v and leaves the conversion of numbers to
// the library.
func (s *source) scalar(key string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	if s.quoted(key, node) {
		return
	}
	target := v.Addr().Interface()
	if text, ok := target.(encoding.TextUnmarshaler); ok {
		if err := text.UnmarshalText([]byte(scalarText(node))); err != nil {
			message := err.Error()
			at := strings.LastIndex(message, "; ")
			s.bad(key, message[:at], message[at+2:])
			return
		}
	} else if v.Kind() == reflect.String {
		v.SetString(scalarText(node))
	} else if v.Kind() == reflect.Map || v.Kind() == reflect.Slice || v.Kind() == reflect.Struct || yaml.NodeToValue(node, target) != nil {
		s.mismatch(key, node, v.Type())
		return
	}
	s.conforms(key, v, tag)
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

// mismatch records that the value at key is of another kind than want.
func (s *source) mismatch(key string, node ast.Node, want reflect.Type) {
	words, hint := kindWords(want)
	s.bad(key, fmt.Sprintf("%s is expected here, not %s", words, nodeWords(node)), hint)
}

// nodeWords describes the value in the file in the terms of kindWords.
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

// kindWords describes the value that the file should have, with an example.
func kindWords(t reflect.Type) (words, hint string) {
	switch {
	case t.Kind() == reflect.Bool:
		return "true or false", "write true or false, without quotes"
	case t.Kind() == reflect.String || t == reflect.TypeFor[Secret]():
		return "a text", "write one value on the line of its key"
	case t == reflect.TypeFor[Channels]() || t.Kind() == reflect.Map:
		return "a block of keys", "write each name on a line of its own, indented, with a colon behind it"
	case t.Kind() == reflect.Slice:
		return "a list", "write it in brackets: [one, two]"
	case t.Kind() == reflect.Struct:
		return "a block of keys", "write each key on a line of its own, indented: " + strings.Join(keysOf(t), ", ")
	}
	return "a number", "write a number, such as 5"
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

func isText(v reflect.Value) bool {
	_, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return ok
}

// fieldOf is the field of the struct t that has the key.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for field := range t.Fields() {
		if tag := field.Tag.Get("yaml"); tag == key && tag != "-" && tag != "" {
			return field, true
		}
	}
	return reflect.StructField{}, false
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

// visible reports whether the value of a field may be shown: the field is a single
// value, or a list of them, and is not for secrets.
func visible(t reflect.Type, tag reflect.StructTag, value ast.Node) bool {
	switch value := value.(type) {
	case *ast.SequenceNode:
		for _, element := range value.Values {
			if entriesOf(element) != nil {
				return false
			}
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		return false
	case *ast.StringNode:
		if envReference.MatchString(value.Value) {
			return true // that is where the secret is, not what
		}
	}
	return plain(t, tag)
}
