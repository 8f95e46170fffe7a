package httpd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// MinToken is the length of the shortest token that a server accepts, in characters. A random token
// of that length cannot be guessed over a network, so attempts need not be counted.
const MinToken = 16

// Digest is what the host keeps of a secret.
type Digest [sha256.Size]byte

// DigestOf returns the digest of a secret.
func DigestOf(secret string) Digest { return sha256.Sum256([]byte(secret)) }

// Is compares the secret's digest with another, in constant time.
func (d Digest) Is(other Digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// Same compares two secrets in constant time, and hides even their lengths.
func Same(given, secret string) bool { return DigestOf(given).Is(DigestOf(secret)) }

// Bearer returns the token that a request shows; empty if it shows none, or several.
func Bearer(r *http.Request) string {
	all := r.Header.Values("Authorization")
	if len(all) != 1 {
		return ""
	}
	kind, token, _ := strings.Cut(all[0], " ")
	if !strings.EqualFold(kind, "Bearer") {
		return ""
	}
	return token
}
