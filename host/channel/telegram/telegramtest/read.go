package telegramtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"strings"
)

// File is a file of the bot's, as a member gets it.
type File struct {
	Name, SHA256 string
	Size         int64
}

// request is what a method was called with.
type request struct {
	call
	parts map[string]File // that came with it, by the names of their parts
}

// errTooLarge is the server's own limit.
var errTooLarge = errors.New("Request Entity Too Large")

// read reads a request, whole, and refuses what its method does not document.
func (s *Server) read(r *http.Request, method string) (*request, error) {
	params, known := methods[method]
	if !known {
		return nil, fmt.Errorf("no method %s", method)
	}
	into := params()
	types := typesOf(reflect.TypeOf(into).Elem())
	req := &request{parts: map[string]File{}}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	var body []byte
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "multipart/form-data":
		body, err = s.form(r, types, query, req.parts)
	case "application/x-www-form-urlencoded":
		raw, readErr := io.ReadAll(r.Body)
		values, parseErr := url.ParseQuery(string(raw))
		if err = errors.Join(readErr, parseErr); err == nil {
			body, err = json.Marshal(argsOf(types, values))
		}
	default:
		body, err = io.ReadAll(r.Body)
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		body = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return req, json.Unmarshal(body, &req.call)
}

// typesOf are the types of a method's parameters by their names.
func typesOf(t reflect.Type) map[string]reflect.Kind {
	all := map[string]reflect.Kind{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for name, kind := range typesOf(f.Type) {
				all[name] = kind
			}
			continue
		}
		all[f.Tag.Get("json")] = f.Type.Kind()
	}
	return all
}

// argsOf are values of an address or a form.
func argsOf(types map[string]reflect.Kind, values url.Values) map[string]json.RawMessage {
	args := map[string]json.RawMessage{}
	for name := range values {
		args[name] = typed(types[name], values.Get(name))
	}
	return args
}

// typed is a form's value as JSON.
func typed(kind reflect.Kind, value string) json.RawMessage {
	if kind == reflect.String || kind == reflect.Invalid || !json.Valid([]byte(value)) {
		quoted, _ := json.Marshal(value)
		return quoted
	}
	return json.RawMessage(value)
}

// form reads a form and its files. A file may be named by attach://, or stand in its
// parameter's own part.
func (s *Server) form(r *http.Request, types map[string]reflect.Kind, query url.Values, parts map[string]File) ([]byte, error) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	args := argsOf(types, query)
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			return json.Marshal(args)
		}
		if err != nil {
			return nil, err
		}
		_, named, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if err != nil {
			return nil, err
		}
		if name, is := named["filename"]; is {
			if parts[part.FormName()], err = s.file(part, name); err != nil {
				return nil, err
			}
			if _, own := types[part.FormName()]; own {
				args[part.FormName()] = typed(reflect.String, "attach://"+part.FormName())
			}
			continue
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		args[part.FormName()] = typed(types[part.FormName()], string(content))
	}
}

func (s *Server) file(part *multipart.Part, name string) (File, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, part)
	if err == nil && n > s.MaxUpload {
		err = errTooLarge
	}
	return File{name, hex.EncodeToString(sum.Sum(nil)), n}, err
}

// named are the files of a call, in order, each with the method that sends its kind.
func (q *request) named(method string) (all []item) {
	if method == "sendMediaGroup" {
		return q.Media
	}
	for _, id := range []string{q.Document, q.Photo, q.Video, q.Animation, q.Audio, q.Voice, q.Sticker} {
		if id != "" {
			all = append(all, item{Type: strings.ToLower(strings.TrimPrefix(method, "send")), File: id, caption: q.caption})
		}
	}
	return all
}
