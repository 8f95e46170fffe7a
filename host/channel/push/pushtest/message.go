package pushtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Message is a message as the receiver has shown it.
type Message struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Chat    string `json:"chat"`
	Thread  string `json:"thread"`
	Text    string `json:"text"`
	ReplyTo string `json:"reply_to"`
	Files   []File `json:"files"`

	Given string `json:"-"` // the id that the receiver gave it
}

// File is a file of a message, whose bytes have that hash.
type File struct {
	Name   string `json:"name"`
	MIME   string `json:"mime"`
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Sign is a signature as Standard Webhooks describes it.
func Sign(key []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(slices.Concat([]byte(id+"."+at+"."), body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

var errSignature = errors.New("the signature is wrong")

// read reads a whole post and verifies it.
func (r *Receiver) read(req *http.Request) (m Message, err error) {
	if req.ContentLength < 0 {
		return m, errors.New("the length is not known")
	}
	kind, params, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		return m, err
	}
	if kind == "application/json" {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return m, err
		}
		return m, r.verify(req.Header, body, &m)
	}
	form := multipart.NewReader(req.Body, params["boundary"])
	part, err := form.NextPart()
	if err != nil {
		return m, err
	}
	body, err := io.ReadAll(part)
	if err != nil {
		return m, err
	}
	if err := r.verify(req.Header, body, &m); err != nil {
		return m, err
	}
	for i, f := range m.Files {
		if err := same(form, i, f); err != nil {
			return m, err
		}
	}
	if _, err := form.NextPart(); !errors.Is(err, io.EOF) {
		return m, errors.New("there is more than was signed")
	}
	return m, nil
}

// same says whether the next part is the file that was signed.
func same(form *multipart.Reader, i int, want File) error {
	part, err := form.NextPart()
	if err != nil {
		return err
	}
	hash := sha256.New()
	n, err := io.Copy(hash, part)
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); n != want.Size || sum != want.SHA256 || part.FormName() != fmt.Sprint("file", i) {
		return fmt.Errorf("file %d is not the one that was signed", i)
	}
	return nil
}

func (r *Receiver) verify(h http.Header, body []byte, m *Message) error {
	id, seconds := h.Get("webhook-id"), h.Get("webhook-timestamp")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || time.Since(time.Unix(at, 0)).Abs() > 5*time.Minute || h.Get("webhook-signature") != Sign(r.key, id, seconds, body) {
		return errSignature
	}
	if err := json.Unmarshal(body, m); err != nil {
		return err
	}
	if m.ID != id || m.Type != "message" {
		return errors.New("the message has another id, or is none")
	}
	return nil
}
