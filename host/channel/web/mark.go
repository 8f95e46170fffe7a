package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
)

// markSign begins every mark of a secret. keyForm does not have it, so that nobody can
// post under the mark of somebody else.
const markSign = "."

// markOf is the mark of the browser that has a secret. Everybody sees the mark, in
// Message.Author; whoever has the secret may edit and delete what bears it, and change
// its reactions and votes. A mark that a poster chooses without a secret is a
// colour only.
func markOf(secret string) string {
	sum := sha256.Sum256([]byte("longshore page author\x00" + secret))
	return markSign + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// secretOK says whether a secret is long enough not to be guessed.
func secretOK(secret string) bool { return len(secret) >= 20 && keyForm.MatchString(secret) }

func badSecret() error {
	return httpd.Refuse(http.StatusBadRequest, "bad_key", "secret has 20 to 64 letters, digits, - or _", "use a random UUID, always the same, and keep it to yourself")
}

// mark tells a browser its mark, which it cannot compute itself without https.
func (w *Web) mark(rw http.ResponseWriter, r *http.Request) {
	var own struct {
		Secret string `json:"secret"`
	}
	if err := readJSON(rw, r, &own, `{"secret": "…"}`); err != nil {
		w.failed(rw, r, err)
		return
	}
	if !secretOK(own.Secret) {
		w.failed(rw, r, badSecret())
		return
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"author": markOf(own.Secret)})
}
