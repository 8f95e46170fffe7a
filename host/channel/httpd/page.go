package httpd

import (
	"fmt"
	"html"
	"maps"
	"strconv"
	"strings"
)

// Pages are texts of HTML pages, by name. Their gaps are those of Mustache without its raw
// ones: every value is escaped. A gap may stand in text and between double quotes in an
// attribute that is no script, style or address; only there the escaping is enough.
//
//	{{name}}                the value
//	{{#name}}…{{/name}}     once if there is a value, and once for each of a list
//	{{^name}}…{{/name}}     once if there is none
//	{{>name}}               another page
//
// html/template does more, but finds methods by names that the linker cannot know. A program
// with it keeps every exported method of every type: a fifth of this one.
type Pages map[string]string

// Values fill a page's gaps: texts, whole numbers, booleans, and lists of Values. Within a
// list, the outer values stay unless an item replaces them.
type Values map[string]any

// Fill returns the page with its gaps filled. An error is a mistake in the page, or a gap
// without a value.
func (p Pages) Fill(name string, v Values) ([]byte, error) {
	var b strings.Builder
	if err := p.include(&b, name, v); err != nil {
		return nil, fmt.Errorf("fill page %s: %w", name, err)
	}
	return []byte(b.String()), nil
}

func (p Pages) include(b *strings.Builder, name string, v Values) error {
	text, ok := p[name]
	if !ok {
		return fmt.Errorf("there is no page %q", name)
	}
	return p.fill(b, text, v)
}

func (p Pages) fill(b *strings.Builder, text string, v Values) error {
	for {
		plain, rest, found := strings.Cut(text, "{{")
		b.WriteString(plain)
		if !found {
			return nil
		}
		gap, rest, ended := strings.Cut(rest, "}}")
		if !ended || gap == "" {
			return fmt.Errorf("a gap does not end, or is empty, after %q", plain)
		}
		var err error
		switch name := gap[1:]; gap[0] {
		case '>':
			err = p.include(b, name, v)
		case '#', '^':
			var inner string
			if inner, rest, ended = strings.Cut(rest, "{{/"+name+"}}"); !ended {
				return fmt.Errorf("the part %s does not end", gap)
			}
			err = p.repeat(b, inner, gap, v)
		default:
			err = value(b, gap, v)
		}
		if err != nil {
			return err
		}
		text = rest
	}
}

// repeat fills a part as often as the value of its gap asks for.
func (p Pages) repeat(b *strings.Builder, part, gap string, v Values) error {
	of, ok := v[gap[1:]]
	if !ok {
		return fmt.Errorf("the gap %s has no value", gap)
	}
	list, isList := of.([]Values)
	some := of != "" && of != 0 && of != int64(0) && of != false
	if isList {
		some = len(list) > 0
	}
	if some != (gap[0] == '#') {
		return nil
	}
	if !isList || !some {
		return p.fill(b, part, v)
	}
	for _, item := range list {
		all := maps.Clone(v)
		maps.Copy(all, item)
		if err := p.fill(b, part, all); err != nil {
			return err
		}
	}
	return nil
}

// value writes one value, escaped.
func value(b *strings.Builder, gap string, v Values) error {
	switch x := v[gap].(type) {
	case string:
		b.WriteString(html.EscapeString(x))
	case int:
		b.WriteString(strconv.Itoa(x))
	case int64:
		b.WriteString(strconv.FormatInt(x, 10))
	default:
		return fmt.Errorf("the gap %s has no value that can be written", gap)
	}
	return nil
}
