package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	suffix       = ".json"
	reasonSuffix = ".reason.json"
	maxID        = 200 // bytes; leaves room for prefixes within a file system's limit of 255
)

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

// isRequest reports whether a directory entry is a request. An entry with a dotted
// name is still being written.
func isRequest(name string) bool {
	return strings.HasSuffix(name, suffix) && name[0] != '.'
}

// quarantineStem returns the name of a request's entry in the errors folder. If the
// request's name has to be changed, the entry's name gets a digest of the original,
// so that two requests do not get the same name.
func quarantineStem(folder, file string) string {
	id := strings.TrimSuffix(file, suffix)
	if ValidID(id) && len(id) <= 120 && !strings.HasSuffix(id, ".reason") {
		return folder + "-" + id
	}
	sum := sha256.Sum256([]byte(file))
	safe := strings.Map(func(r rune) rune {
		if unsafeRune(r) || r == '.' {
			return '_'
		}
		return r
	}, id)
	return folder + "-" + safe[:min(len(safe), 100)] + "-" + hex.EncodeToString(sum[:6])
}
