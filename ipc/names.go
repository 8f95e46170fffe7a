package ipc

import (
	"strings"
)

// Suffix is the end of the file name of a request and of its result.
const Suffix = ".json"

// HandedSuffix follows the name of a follow-up that the host has handed to an assistant which
// shares no directory with it: the assistant may have read it.
const HandedSuffix = ".handed"

const maxID = 200 // bytes; leaves room for prefixes within a file system's limit of 255

// ValidID reports whether a request may have this id: letters, digits, dot, hyphen
// and underscore, no dot at the start, at most 200 bytes. v1's <epochMs>-<base36>
// and UUIDs are valid. A valid id is safe in a terminal, on a page and in a shell.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID || id[0] == '.' {
		return false
	}
	return strings.IndexFunc(id, unsafeRune) < 0
}

func unsafeRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '.', r == '-', r == '_':
		return false
	}
	return true
}

// IsRequest reports whether a directory entry is a request. An entry with a dotted
// name is still being written.
func IsRequest(name string) bool {
	return strings.HasSuffix(name, Suffix) && name[0] != '.'
}

// Printable returns a request's id in a form that is safe in a log and on a page.
func Printable(id string) string {
	if ValidID(id) {
		return id
	}
	return quote(id)
}
