package safefs

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Spelled returns the path at which a file exists whose names are those of path in another form
// of Unicode, or path itself. Macs decompose letters with accents in names, other systems and
// models compose them. exists looks at one path without following a link at its end.
func Spelled(path string, exists func(path string) bool) string {
	if ascii(path) || exists(path) {
		return path
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		for _, form := range []string{part, norm.NFC.String(part), norm.NFD.String(part), ""} {
			if form == "" && part != "" {
				return path
			}
			parts[i] = form
			if at := strings.Join(parts[:i+1], "/"); at == "" || exists(at) {
				break
			}
		}
	}
	return strings.Join(parts, "/")
}

// ascii reports whether all forms of s are the same.
func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
