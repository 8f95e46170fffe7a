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
	maxExt  = 20  // bytes; what follows the last dot of a longer name is a sentence, not a type

	maxMarks = 8 // combining marks on one character

	noName = "file"

	invisibleEnd = ". \u200c\u200d" // not at either end of a name

	zwnj, zwj = '\u200c', '\u200d' // needed by Persian and by joined emoji
)

// SafeName makes of any name one that every platform takes as a file's name
// and that reads as what it is: of a path the last component, in any other name
// an underscore for each slash; valid UTF-8 in NFC, no control, invisible or bidirectional characters, no hidden text, none of <>:"/\|?*,
// no leading dot (".env" is "_.env"), no trailing dot or space, not a device of Windows, at most
// 200 bytes with the extension kept. It is never empty ("file") and a safe
// name comes back unchanged.
//
// It does not make names unique, and letters that look alike stay.
func SafeName(name string) string {
	if isPath(name) {
		name = strings.TrimRight(name, `/\`)
		name = name[strings.LastIndexAny(name, `/\`)+1:]
	}
	name = norm.NFC.String(fewMarks(WithoutHidden(strings.Map(safeRune, name))))
	// Composing can bring a character back that may not stand in a name.
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

// isPath says whether a name is meant as a path. A slash alone does not make it
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

// safeRune maps a character to what may stand in a name, or to -1.
func safeRune(r rune) rune {
	switch {
	case r == utf8.RuneError: // invalid bytes, or what a decoder made of them
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

// fewMarks drops what is piled on one character beyond maxMarks: no script
// needs it, it hides the lines around it, and normal form breaks longer piles
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

// trim takes off what hides a file or what Windows drops. A name that is
// nothing but a known extension gets a stem instead: ".pdf" is "file.pdf".
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

// shorten cuts the stem, between characters, so that name has at most limit
// bytes and still its extension.
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
	for whole := cut; whole > 0; { // a character goes with its marks, where it is not all marks
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

// device says whether Windows would open a device for the name, with whatever
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

// extension returns what follows the last dot of a safe name, in lower case.
func extension(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
}
