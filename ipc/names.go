package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	suffix       = ".json"
	reasonSuffix = ".reason.json"
	maxID        = 200 // bytes; leaves room for prefixes below the 255 of file systems
)

// ValidID says whether a request may have this id: letters, digits, dot,
// hyphen, underscore, no dot at the start, at most 200 bytes. v1's
// <epochMs>-<base36> and our UUIDs are such; nothing that a terminal, a page or a
// shell could stumble over is.
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

// isRequest says whether a directory entry is meant as a request. A dotted
// name is still being written.
func isRequest(name string) bool {
	return strings.HasSuffix(name, suffix) && name[0] != '.'
}

// quarantineStem names an entry of the errors folder. A name that had to be
// changed gets a digest of the real one, so that two do not become the same.
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
