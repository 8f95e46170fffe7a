package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/ipc"
)

// maxKey is how many characters an idempotency key may have.
const maxKey = 128

// The fields of a call, which all are texts. The names are those of the tool send_file.
const (
	fieldPath   = "path"
	fieldBuffer = "buffer"
	fieldFile   = "file" // of a form: the last part
	fieldUpload = "upload"
	fieldKey    = "idempotency_key"
)

var fieldNames = []string{fieldPath, fieldBuffer, fieldUpload, fieldKey, "file_name", "mime_type", "caption", "alt", "as", "reply_to", "chat"}

// mediaCall is a parsed call of send-media.
type mediaCall struct {
	fields map[string]string
	name   string        // of the file, as the form says
	file   io.ReadSeeker // nil: the call names a path
	sum    hash.Hash     // of the file
	upload string        // the name of the upload that it is; empty: none
	hash   string        // that the upload was announced with
	gone   error         // why the upload has no bytes; nil: it has
}

// parseFields reads the fields of a call that is JSON.
func parseFields(b []byte) (map[string]string, error) { return flatObject(b, fieldNames) }

// flatObject reads one flat JSON object of texts, strictly.
func flatObject(b []byte, names []string) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, malformed("the body is not a JSON object")
	}
	fields := map[string]string{}
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, malformed("the body is not JSON")
		}
		if err := takes(fields, key, names); err != nil {
			return nil, err
		}
		if t, err = dec.Token(); err != nil {
			return nil, malformed("the body is not JSON")
		}
		if fields[key], ok = t.(string); !ok {
			return nil, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, httpd.Quote(key)+" is no text", "write it in quotes")
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, malformed("the body is not JSON")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, malformed("something follows the JSON object")
	}
	return fields, nil
}

// takes refuses a field that is unknown or there already.
func takes(fields map[string]string, key string, names []string) error {
	if !slices.Contains(names, key) {
		return httpd.Refuse(http.StatusBadRequest, ipc.CodeUnknownKey, httpd.Quote(key)+" is not known here", "use "+strings.Join(names, ", "))
	}
	if _, twice := fields[key]; twice {
		return httpd.Refuse(http.StatusBadRequest, ipc.CodeDuplicateKey, httpd.Quote(key)+" is given twice", "give it once")
	}
	return nil
}

// readJSON reads a call that is JSON. Its file, if it has one, is in it.
func readJSON(l intake.Limits, body io.Reader) (*mediaCall, error) {
	most := l.Largest()
	b, err := io.ReadAll(body)
	if err != nil {
		return nil, tooLarge(err, most)
	}
	fields, err := parseFields(b)
	if err != nil {
		return nil, err
	}
	text, has := fields[fieldBuffer]
	delete(fields, fieldBuffer)
	if int64(len(b)-len(text)) > l.Fields {
		return nil, tooLarge(&http.MaxBytesError{}, l.Fields)
	}
	c := &mediaCall{fields: fields}
	if !has {
		return c, nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, `"buffer" is not base64`, "write it in standard base64, with its padding")
	}
	c.file, c.sum = bytes.NewReader(data), sha256.New()
	c.sum.Write(data)
	return c, nil
}

// readForm reads a call that is a form: fields first, the file last, into a file of tmp. The
// caller closes that, which has no name any more.
func readForm(l intake.Limits, form *multipart.Reader, tmp string, b *intake.Body, most int64) (*mediaCall, error) {
	c := &mediaCall{fields: map[string]string{}}
	size := int64(0)
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return c, tooLarge(err, most)
		}
		if c.file != nil {
			return c, malformed("something follows the file of the form")
		}
		if part.FormName() == fieldFile {
			c.name = httpd.FileName(part)
			if err := c.keep(part, tmp, b); err != nil {
				return c, tooLarge(err, most)
			}
			continue
		}
		if err := takes(c.fields, part.FormName(), fieldNames); err != nil {
			return c, err
		}
		value, err := io.ReadAll(io.LimitReader(part, l.Fields+1))
		if err != nil {
			return c, tooLarge(err, most)
		}
		if size += int64(len(value)); size > l.Fields {
			return c, tooLarge(&http.MaxBytesError{}, l.Fields)
		}
		c.fields[part.FormName()] = string(value)
	}
}

func (c *mediaCall) keep(from io.Reader, tmp string, b *intake.Body) error {
	f, err := os.CreateTemp(tmp, "body-")
	if err != nil {
		return errors.Join(intake.ErrNoRoom, err)
	}
	_ = os.Remove(f.Name()) // it lives as long as it is open
	c.file, c.sum = f, sha256.New()
	if _, err = io.Copy(io.MultiWriter(b, f, c.sum), from); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

func (c *mediaCall) close() {
	if f, ok := c.file.(*os.File); ok {
		_ = f.Close()
	}
}

// content is a hash of all that the call says.
func (c *mediaCall) content() []byte {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(c.fields)) {
		fmt.Fprintf(h, "%q=%q\n", key, c.fields[key])
	}
	fmt.Fprintf(h, "name=%q\n", c.name)
	if c.sum != nil {
		h.Write(c.sum.Sum(nil))
	}
	return h.Sum(nil)
}

// keyOf is the call's idempotency key: of the header, or the field.
func keyOf(r *http.Request, fields map[string]string) (string, error) {
	key := fields[fieldKey]
	delete(fields, fieldKey)
	if all := r.Header.Values("Idempotency-Key"); len(all) > 0 {
		if len(all) > 1 || key != "" && key != all[0] || all[0] == "" {
			return "", httpd.Refuse(http.StatusBadRequest, ipc.CodeConflict, "there is no single idempotency key", "give one")
		}
		key = all[0]
	}
	return key, checkKey(key)
}

// checkKey refuses what is no idempotency key. An empty one is none at all.
func checkKey(key string) error {
	unprintable := func(c rune) bool { return c < ' ' || c > '~' }
	if len(key) > maxKey || strings.ContainsFunc(key, unprintable) {
		return httpd.Refuse(http.StatusBadRequest, ipc.CodeWrongValue, "the idempotency key is no key", "use at most 128 printable ASCII characters")
	}
	return nil
}
