package media

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxName = 200 // bytes; leaves room below the 255 of file systems for a prefix or a counter
	maxExt  = 20  // bytes; the text behind the last dot of a longer name is not a type

	maxMarks = 8 // combining marks on one character

	noName = "file"

	invisibleEnd = ". \u200c\u200d" // not at either end of a name

	zwnj, zwj = '\u200c', '\u200d' // needed by Persian and by joined emoji
)

// SafeName turns any name into a file name that every platform accepts and that
// shows what it is. Of a path it keeps the last component; in any other name each
// slash becomes an underscore. The result:
//   - is valid UTF-8 in NFC, with at most 200 bytes, extension included;
//   - has no control, invisible or bidirectional characters, no hidden text, and none of <>:"/\|?*;
//   - has no leading dot (".env" becomes "_.env"), no trailing dot or space, and is not the name of a Windows device;
//   - is never empty ("file").
//
// A safe name is returned unchanged. SafeName does not make names unique, and keeps
// letters that look alike.
func SafeName(name string) string {
	if isPath(name) {
		name = strings.TrimRight(name, `/\`)
		name = name[strings.LastIndexAny(name, `/\`)+1:]
	}
	name = norm.NFC.String(fewMarks(WithoutHidden(strings.Map(safeRune, name))))
	// NFC can compose a character that may not be in a name.
	name = strings.Join(strings.Fields(strings.Map(safeRune, name)), " ")
	name = shorten(trim(name), maxName-1) // one byte for the underscore below
	if device(name) {
		name = "_" + name
	}
	if name == "" {
		return noName
	}
	return name
}

// Visible is a path, or a name, as members would see it: without the characters that SafeName
// removes, but with its slashes and its dots. It is for judging a name.
func Visible(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= utf8.RuneSelf-1 }) {
		return path
	}
	kept := func(r rune) rune {
		if strings.ContainsRune(`<>:"/\|?*`, r) {
			return r
		}
		return safeRune(r)
	}
	path = strings.Map(kept, norm.NFC.String(fewMarks(WithoutHidden(strings.Map(kept, path)))))
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.TrimRight(strings.TrimLeft(strings.Join(strings.Fields(part), " "), " \u200c\u200d"), invisibleEnd)
	}
	return strings.Join(parts, "/")
}

// isPath reports whether a name is meant as a path. A slash alone does not make it
// one: people write "Q4/2026.pdf".
func isPath(name string) bool {
	for _, start := range []string{"/", `\`, "./", `.\`, "../", `..\`, "~/"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	drive := len(name) > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/')
	return drive || strings.HasSuffix(name, "/") || strings.HasSuffix(name, `\`)
}

// safeRune maps a character to one that may be in a name, or to -1.
func safeRune(r rune) rune {
	switch {
	case r == utf8.RuneError: // invalid bytes, or a decoder's replacement for them
		return '_'
	case strings.ContainsRune(`<>:"/\|?*`, r):
		return '_'
	case unicode.IsSpace(r):
		return ' '
	case joiner(r):
		return r
	case !unicode.IsGraphic(r) || blank(r):
		return -1
	}
	return r
}

// fewMarks removes combining marks beyond maxMarks on one character. No script needs
// more; more would hide the lines around the name, and NFC breaks longer sequences
// up with an invisible character.
func fewMarks(name string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		if !unicode.Is(unicode.M, r) {
			marks = 0
		} else if marks++; marks > maxMarks {
			return -1
		}
		return r
	}, name)
}

// trim removes dots and characters at the ends that hide a file or that Windows
// drops. A name that is only a known extension gets a stem: ".pdf" becomes
// "file.pdf".
func trim(name string) string {
	name = strings.TrimRight(name, invisibleEnd)
	bare := strings.TrimLeft(name, invisibleEnd)
	if bare != name && !strings.Contains(bare, ".") {
		if _, ok := byExt(strings.ToLower(bare)); ok {
			return noName + "." + bare
		}
	}
	if bare != "" && strings.Contains(name[:len(name)-len(bare)], ".") {
		return "_." + bare
	}
	return bare
}

// shorten cuts the stem, between characters, so that name has at most limit bytes
// and keeps its extension.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	ext := path.Ext(name)
	if stem := strings.TrimSuffix(name, ext); strings.HasSuffix(strings.ToLower(stem), ".tar") {
		ext = name[len(stem)-len(".tar"):]
	}
	if len(ext) > maxExt {
		ext = ""
	}
	cut := limit - len(ext)
	for cut > 0 && !utf8.RuneStart(name[cut]) {
		cut--
	}
	for whole := cut; whole > 0; { // a character stays with its marks, unless everything is marks
		if r, _ := utf8.DecodeRuneInString(name[whole:]); !unicode.Is(unicode.M, r) && !joiner(r) {
			cut = whole
			break
		}
		_, size := utf8.DecodeLastRuneInString(name[:whole])
		whole -= size
	}
	return strings.TrimRight(name[:cut], invisibleEnd) + ext
}

func joiner(r rune) bool { return r == zwj || r == zwnj }

// device reports whether Windows would open a device for the name, with any
// extension (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
func device(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		port, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && utf8.RuneCountInString(port) == 1 && strings.Contains("0123456789¹²³", port)
}

// extension returns the text behind the last dot of a safe name, in lower case.
func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}
