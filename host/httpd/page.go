package httpd

import (
	"fmt"
	"html"
	"maps"
	"strings"
)

// Values fill the gaps of a page: strings, booleans, and lists of Values.
type Values map[string]any

// Fill returns an HTML page with its gaps filled; an error is a mistake in the page, or a gap
// without a value. {{name}} is a string. {{#name}}…{{/name}} stays if a string is not empty
// or a boolean is true, and is repeated for each of a list, whose items add to v. Every
// string is escaped for text and for attributes in double quotes, and a gap may stand
// nowhere else: not in a script, a style, or at the start of an address.
//
// html/template does more, but it calls methods by names that the linker cannot know. A program
// that links it keeps each exported method of each type: a fifth of this one.
func Fill(page string, v Values) (string, error) {
	var b strings.Builder
	for {
		plain, rest, more := strings.Cut(page, "{{")
		b.WriteString(plain)
		if !more {
			return b.String(), nil
		}
		gap, rest, ended := strings.Cut(rest, "}}")
		name, isPart := strings.CutPrefix(gap, "#")
		part := ""
		if isPart && ended {
			part, rest, ended = strings.Cut(rest, "{{/"+name+"}}")
		}
		text, err := fillGap(v, name, part, isPart)
		if err == nil && !ended {
			err = fmt.Errorf("the gap %s does not end", name)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		page = rest
	}
}

func fillGap(v Values, name, part string, isPart bool) (string, error) {
	switch x := v[name].(type) {
	case string:
		if !isPart {
			return html.EscapeString(x), nil
		}
		return keep(x != "", part, v)
	case bool:
		return keep(x, part, v)
	case []Values:
		var b strings.Builder
		for _, item := range x {
			all := maps.Clone(v)
			maps.Copy(all, item)
			text, err := Fill(part, all)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("the gap %s has no value", name)
}

func keep(it bool, part string, v Values) (string, error) {
	if !it {
		return "", nil
	}
	return Fill(part, v)
}
