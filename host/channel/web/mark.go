package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// markSign is the first character of every mark of a secret. keyForm excludes it, so that
// nobody can post under another browser's mark.
const markSign = "."

// markOf returns the public mark of a browser's secret, shown in Message.Author. A browser with
// the secret may edit and delete its messages and change its reactions and votes. A mark
// that a poster chooses without a secret only selects a colour.
func markOf(secret string) string {
	sum := sha256.Sum256([]byte("longshore page author\x00" + secret))
	return markSign + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// secretOK reports whether a secret is long enough.
func secretOK(secret string) bool { return len(secret) >= 20 && keyForm.MatchString(secret) }

func badSecret() error {
	return httpd.Refuse(http.StatusBadRequest, "bad_key", "secret has 20 to 64 letters, digits, - or _", "use a random UUID, always the same, and keep it to yourself")
}

// mark returns a browser's mark, which the browser cannot compute itself without https.
func (w *Web) mark(rw http.ResponseWriter, r *http.Request) error {
	var own struct {
		Secret string `json:"secret"`
	}
	if err := readJSON(rw, r, &own, `{"secret": "…"}`); err != nil {
		return err
	}
	if !secretOK(own.Secret) {
		return badSecret()
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"author": markOf(own.Secret)})
	return nil
}
