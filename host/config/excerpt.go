package config

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
	"golang.org/x/text/width"

	"github.com/longshore-bridge/longshore/media"
)

// maxExcerpt is how much of a line is shown, in characters.
const maxExcerpt = 100

// excerpt shows a line with a caret below its column. Logs get it, so it shows only
// keys, and values of keys that hold no secret. A mark replaces all other values and
// comments.
func (s *source) excerpt(line, column int) string {
	text := []rune(s.lines[line-1])
	hidden := s.hidden(line, text)
	var shown []rune
	caret := -1
	for i := 0; i < len(text); i++ {
		if i == column-1 {
			caret = len(shown)
		}
		if !hidden[i] {
			shown = append(shown, []rune(media.Printable(strings.ReplaceAll(string(text[i]), "\t", "    ")))...)
			continue
		}
		shown = append(shown, '…')
		for i+1 < len(text) && hidden[i+1] {
			if i++; i == column-1 {
				caret = len(shown) - 1
			}
		}
	}
	if caret < 0 {
		caret = len(shown)
	}
	if caret > maxExcerpt*2/3 {
		cut := caret - maxExcerpt/3
		shown, caret = append([]rune("…"), shown[cut:]...), caret-cut+1
	}
	if len(shown) > maxExcerpt {
		shown = append(shown[:maxExcerpt], '…')
	}
	number := fmt.Sprintf("%5d | ", line)
	return "\n" + number + strings.TrimRight(string(shown), " ") + "\n" + strings.Repeat(" ", len(number)-2) + "| " + strings.Repeat(" ", cells(shown[:caret])) + "^"
}

// secretWord is what the keys of models and chat platforms look like, and
// passwords in web addresses.
var secretWord = regexp.MustCompile(`(sk-|sk_|ghp_|github_pat_|glpat-|xox[a-z]-|AKIA|AIza)[A-Za-z0-9_-]{12,}|://[^/@\s]+@`)

// comment is one that ends a line.
var comment = regexp.MustCompile(`(^|\s)#.*$`)

// hidden says which characters of a line are not to be seen.
func (s *source) hidden(line int, text []rune) []bool {
	hidden := slices.Repeat([]bool{true}, len(text))
	whole := string(text)
	hide := func(span []int, on bool) {
		for i := span[0]; i < min(span[1], len(text)); i++ {
			hidden[i] = on
		}
	}
	all := s.positionsOn(line, whole)
	for i, p := range all {
		end := len(text)
		if i+1 < len(all) {
			end = all[i+1].key.Column - 1
		}
		if !p.shown && p.value > 0 {
			end = p.value - 1
		}
		hide([]int{p.key.Column - 1, end}, false)
	}
	for _, found := range secretWord.FindAllStringIndex(whole, -1) {
		hide(inRunes(whole, found), true)
	}
	for _, found := range comment.FindAllStringIndex(whole, -1) {
		if before := whole[:found[0]]; strings.Count(before, `"`)%2 == 0 && strings.Count(before, "'")%2 == 0 {
			hide(inRunes(whole, found), true)
		}
	}
	// Separators at either end of the hidden part are not secret.
	separates := func(i int) bool { return strings.ContainsRune(" \t-,[]{}", text[i]) }
	for i := range text {
		hidden[i] = hidden[i] && (i > 0 && hidden[i-1] || !separates(i))
	}
	for i := len(text) - 1; i >= 0; i-- {
		hidden[i] = hidden[i] && (i+1 < len(text) && hidden[i+1] || !separates(i))
	}
	return hidden
}

// inRunes is a span of bytes counted in characters.
func inRunes(text string, bytes []int) []int {
	return []int{utf8.RuneCountInString(text[:bytes[0]]), utf8.RuneCountInString(text[:bytes[1]])}
}

// positionsOn are the keys and elements that begin on a line, in order. If the
// text is no YAML none is known; then the first key of the line counts by its
// name.
func (s *source) positionsOn(line int, text string) []*position {
	byColumn := make(map[int]string)
	for at, p := range s.positions {
		// The first key of an element stands where the element does, and counts.
		if p.key.Line == line && len(at) > len(byColumn[p.key.Column]) {
			byColumn[p.key.Column] = at
		}
	}
	var all []*position
	for _, column := range slices.Sorted(maps.Keys(byColumn)) {
		all = append(all, s.positions[byColumn[column]])
	}
	if m := firstKey.FindStringSubmatchIndex(text); len(all) == 0 && m != nil {
		names := make(map[string]bool)
		s.keyNames(reflect.TypeFor[Config](), names)
		if shown, known := names[text[m[2]:m[3]]]; known || strings.HasPrefix(text[m[1]:], "{") {
			all = []*position{{
				key: &token.Position{Line: line, Column: inRunes(text, m[2:])[0] + 1}, value: inRunes(text, m)[1] + 1,
				shown: shown && !strings.Contains(text[m[1]:], ": "),
			}}
		}
	}
	return all
}

// firstKey is the first key of a line, up to its value.
var firstKey = regexp.MustCompile(`^[\s-]*([a-z_]+)\s*:(\s+|$)`)

// keyNames adds the keys of t and below, each with whether its values may be
// shown, wherever it stands.
func (s *source) keyNames(t reflect.Type, names map[string]bool) {
	switch {
	case t == reflect.TypeFor[Channels]():
		for _, p := range s.platforms {
			names[p.Key()] = false
			s.keyNames(reflect.TypeOf(p.Settings()), names)
		}
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Pointer:
		s.keyNames(t.Elem(), names)
	case t.Kind() == reflect.Struct:
		for field := range t.Fields() {
			if key := field.Tag.Get("yaml"); key != "" && key != "-" {
				before, twice := names[key]
				names[key] = plain(field.Type, field.Tag) && (before || !twice)
				s.keyNames(field.Type, names)
			}
		}
	}
}

// plain reports whether a field holds no secret, at any depth.
func plain(t reflect.Type, tag reflect.StructTag) bool {
	switch {
	case t == reflect.TypeFor[Secret](), t == reflect.TypeFor[Channels](), tag.Get("private") != "":
		return false
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return plain(t.Elem(), "")
	case t.Kind() == reflect.Struct:
		for field := range t.Fields() {
			if !plain(field.Type, field.Tag) {
				return false
			}
		}
	}
	return true
}

// cells is how many columns of a terminal a text takes.
func cells(text []rune) (n int) {
	for _, r := range text {
		switch kind := width.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case kind == width.EastAsianWide || kind == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
