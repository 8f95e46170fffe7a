package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/longshore-bridge/longshore/media"
)

// maxKey is how many bytes an id that comes from outside may have in an index: PostgreSQL takes 2,704 in all.
const maxKey = 256

// Key is how the tables know an id or a reference that comes from outside: itself, or if that is long, its beginning
// and a hash.
func Key(id string) string {
	if len(id) <= maxKey {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToValidUTF8(id[:maxKey-2*len(sum)], "") + hex.EncodeToString(sum[:])
}

// maxName is how many characters of a name are shown.
const maxName = 64

// CleanName makes the name of a person or a chat fit for a page, a log and a prompt: one line of
// at most 64 characters, without controls, direction marks, tags and other invisible characters
// that could make it pass for another name. It is empty if nothing visible is left. The name is
// not escaped, and proves nothing.
func CleanName(name string) string {
	in := []rune(name)
	var out []rune
	for i, r := range in {
		last := ' '
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch {
		case unicode.IsSpace(r):
			out = append(out, ' ')
		case r == zeroWidthJoiner: // holds emoji together, and is invisible elsewhere
			if last != ' ' && i+1 < len(in) && unicode.Is(unicode.So, in[i+1]) && shows(in[i+1]) {
				out = append(out, r)
			}
		case !shows(r):
		default:
			out = append(out, r)
		}
	}
	name = strings.Join(strings.Fields(media.WithoutHidden(string(out))), " ")
	if r := []rune(name); len(r) > maxName {
		name = media.WithoutHidden(strings.TrimSpace(string(r[:maxName-1])) + "…")
	}
	if !strings.ContainsFunc(name, visible) {
		return ""
	}
	return name
}

const zeroWidthJoiner = '\u200d'

func shows(r rune) bool {
	return r != unicode.ReplacementChar && media.Printable(string(r)) == string(r)
}

func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
}
