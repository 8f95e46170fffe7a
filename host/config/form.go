package config

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/internal/near"
	"github.com/longshore-bridge/longshore/media"
)

// The form of longshore.yaml is stated once: by the fields of Config and of the
// platforms' settings. The decoder and the JSON Schema both read their types
// and these tags; a default is what the field holds before decoding.
//
//	yaml             the key
//	help             what the key is for, for people
//	enum             the values that it takes
//	form             the form of a text, or of each text of a list: one of forms
//	keys             the form of a block's keys: one of forms
//	above, min, max  bounds of a number, a size or a duration
//	required         the key must be there with a value
//	private          the value may hold a secret and is never shown
//	restart          a running host does not take up another value
//	local            each host of a cluster may have its own value, see Common

// form is what a text must look like.
type form struct {
	pattern
	wrong string // the message; %q is the text
	hint  string
}

// pattern is an expression that a text matches, and how long the text may be.
type pattern struct {
	expression func() *regexp.Regexp
	most       int // characters; 0: as many as the expression lets through
}

// later compiles an expression when it is first used: those with many repetitions take
// longer than the rest of a start.
func later(expression string) pattern {
	return pattern{expression: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

func always(expression *regexp.Regexp) pattern {
	return pattern{expression: func() *regexp.Regexp { return expression }}
}

// atMost bounds the text to n characters. A bound in the expression is compiled n times.
func (p pattern) atMost(n int) pattern { return pattern{p.expression, n} }

func (p pattern) matches(text string) bool {
	return (p.most == 0 || utf8.RuneCountInString(text) <= p.most) && p.expression().MatchString(text)
}

// forms are those that tags name.
var forms = map[string]form{
	"label": {later(`^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$`).atMost(100),
		"the text is longer than 100 characters, or holds one that cannot be printed", "shorten it, or leave that character out"},
	"host": {later(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`),
		"%q is not a host name", "write a name without scheme, port or path, such as metrics.example.org"},
	"url": {later(`^(https?://[^/].*)?$`),
		"%q is no web address", "write it whole, such as https://chat.example.org"},
	"hours": {later(`^([01][0-9]|2[0-3]):[0-5][0-9]-(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`),
		"%q are no hours of a day", "write from-to with two digits each, such as 08:00-20:00, or 22:00-06:00 over midnight"},
	"topic": {later(`^[A-Za-z0-9_-]{1,64}$`),
		"%q is no topic of ntfy", "use 1 to 64 letters, digits, _ and -"},
	"zone": {later(`^[A-Za-z][A-Za-z0-9_+/-]{0,63}$`),
		"%q is no time zone", "write its name in the IANA database, such as Europe/Berlin"},
	"assistant": {always(groups.FolderPattern),
		"%q is no name of an assistant", "use 1 to 64 letters, digits, _ and -, beginning with a letter or digit"},
	"engine": {always(groups.FolderPattern),
		"%q is no name of an engine", "use 1 to 64 letters, digits, _ and -, beginning with a letter or digit, such as harbour"},
	"group": {always(groups.FolderPattern),
		"%q is no name of a group", "use 1 to 64 letters, digits, _ and -, beginning with a letter or digit, such as family"},
	"destination": {always(groups.FolderPattern),
		"%q is no name of a destination", "use 1 to 64 letters, digits, _ and -, beginning with a letter or digit, such as board"},
	"mount": {always(mounts.ExtraPattern),
		"%q is no name for a mount", "use 1 to 64 letters, digits, ., _ and -; it is seen at /workspace/extra/<name>"},
	"pattern": {later(`^[^/]+$`),
		"%q is no pattern for one name", "write a name, with * and ? where they help: *.pem"},
	// A mode with a colon would share another container's network.
	"network": {later(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`),
		"%q is no name of a network", "write bridge, none, or one that docker network ls shows"},
	"provider": {later(`^[a-z][a-z0-9-]{0,31}$`),
		"%q is no name of a provider", "use 1 to 32 lower-case letters, digits and -, beginning with a letter, such as mistral"},
	"model": {later(`^([A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}\*?|\*)$`),
		"%q is no name of a model", "write it as the service does; a * at the end stands for any ending: claude-*"},
	"cluster": {later(`^([a-z][a-z0-9-]{0,31})?$`),
		"%q is no name of a cluster", "use 1 to 32 lower-case letters, digits and -, beginning with a letter, such as harbour"},
	"asked": {later(`^[!-~]{1,64}$`),
		"%q is no name of a key, a kind of tool or a model", "write it as the refusal does, such as web_search_options"},
	"variable": {later(`^[A-Za-z_][A-Za-z0-9_]*$`),
		"%q is no name of a variable", "use letters, digits and _, beginning with a letter or _"},
}

// ofKinds are the tags of each entry of groups.KindLimits.
const ofKinds reflect.StructTag = `above:"0"`

// conforms checks the value v at key against its field's tags.
func (s *source) conforms(key string, v reflect.Value, tag reflect.StructTag) {
	if enum := tag.Get("enum"); enum != "" {
		s.oneOf(key, v.String(), strings.Split(enum, ","), "unknown here", "use ")
	}
	if f, ok := forms[tag.Get("form")]; ok && !f.matches(v.String()) {
		s.bad(key, f.message(v.String()), f.hint)
	}
	n, isNumber := number(v)
	if !isNumber {
		return
	}
	if b := tag.Get("above"); b != "" && n <= bound(b, v.Type()) {
		s.bad(key, "the value must be above "+b, "raise it, or leave the key out")
	}
	if b := tag.Get("min"); b != "" && n < bound(b, v.Type()) {
		s.bad(key, "the value must be at least "+b, "raise it, or leave the key out")
	}
	if b := tag.Get("max"); b != "" && n > bound(b, v.Type()) {
		s.bad(key, "the value must be at most "+b, "lower it, or leave the key out")
	}
}

// keyConforms checks the name of an entry of a block against the form that its
// field's tags name.
func (s *source) keyConforms(key, name string, tag reflect.StructTag) {
	if f, ok := forms[tag.Get("keys")]; ok && !f.matches(name) {
		s.badKey(key, f.message(name), f.hint)
	}
}

// oneOf rejects a value that is not one of known, and suggests the nearest one.
func (s *source) oneOf(key, value string, known []string, wrong, hint string) {
	if !slices.Contains(known, value) {
		s.bad(key, fmt.Sprintf("%q is %s", value, wrong), near.Hint(value, known, hint+strings.Join(known, ", ")))
	}
}

// required rejects a block that lacks a required key, or has it without a value.
func (s *source) required(key string, block reflect.Value) {
	for field, v := range block.Fields() {
		if field.Tag.Get("required") != "" && v.IsZero() {
			name := field.Tag.Get("yaml")
			s.bad(key+"."+name, "no "+name+" is given", "add "+name+": "+field.Tag.Get("help"))
		}
	}
}

func (f form) message(text string) string {
	if strings.Contains(f.wrong, "%q") {
		return fmt.Sprintf(f.wrong, text)
	}
	return f.wrong
}

// number returns v as a float64.
func number(v reflect.Value) (n float64, ok bool) {
	switch {
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}

// bound parses a tag's bound in the form that values of type t have.
func bound(text string, t reflect.Type) float64 {
	v := reflect.New(t)
	if u, ok := v.Interface().(encoding.TextUnmarshaler); ok && u.UnmarshalText([]byte(text)) == nil {
		n, _ := number(v.Elem())
		return n
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// newWithDefaults is a pointer to a new t, filled in where t has defaults.
func newWithDefaults(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	if d, ok := v.Interface().(interface{ SetDefaults() }); ok {
		d.SetDefaults()
	}
	return v
}

// kindNames are the names of package media's kinds.
func kindNames() (names []string) {
	for _, kind := range media.Kinds() {
		names = append(names, string(kind))
	}
	return names
}
