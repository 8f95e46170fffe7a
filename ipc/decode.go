package ipc

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode parses one request. Its error is a *Refusal and permanent.
//
// Each key must be known, match exactly, and be given once, in one spelling.
// Decoders that use the last of two chatJid keys, accept CHATJID for chatJid, or
// replace invalid UTF-8 by U+FFFD, have elsewhere let a request say one thing to the
// check and another to the sender. Decode refuses all of these.
func Decode(b []byte) (Request, error) {
	w, refusal := parse(b)
	if refusal == nil {
		refusal = w.complete()
	}
	if refusal == nil {
		refusal = w.request.check()
	}
	if refusal != nil {
		return Request{}, refusal
	}
	return w.request, nil
}

// written is a request while it is read.
type written struct {
	request  Request
	given    uint64  // the request's fields that were given, by index
	own      FileRef // the file that the keys of the top level describe
	ownGiven uint64

	// NanoClaw v1's. The host runs no script of a container, and who may mount or call
	// what is the operator's to say.
	script    bool
	everyCall bool // requiresTrigger is false
}

// ignored are keys that forks write. The container's statements about itself do not
// count, and answers are written to results/.
var ignored = []string{"id", "isMain", "createdBy", "responseFile"}

// onlyAtTop are spellings that the elements of "files" do not have.
var onlyAtTop = []string{"comment", "fileComment"}

// parse reads the single JSON object of a request. A lone surrogate becomes U+FFFD,
// which checkText refuses.
func parse(b []byte) (w written, refusal *Refusal) {
	const space = " \t\r\n"
	switch start := bytes.TrimLeft(b, space); {
	case len(b) > MaxRequest:
		return w, TooLarge(int64(len(b)))
	case !utf8.Valid(b):
		return w, refuse(CodeMalformed, "the request is not valid UTF-8", "write the JSON as UTF-8")
	case len(start) > 0 && start[0] != '{':
		return w, refuse(CodeMalformed, "the request is not a JSON object", "write one object per file")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowInvalidUTF8(true))
	err := object(d, w.member)
	if err == nil && len(bytes.TrimLeft(b[d.InputOffset():], space)) > 0 {
		err = errors.New("something follows the object")
	}
	if err != nil {
		return w, asRefusal(err)
	}
	return w, nil
}

// object reads an object. member reads the value of one key.
func object(d *jsontext.Decoder, member func(d *jsontext.Decoder, key string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		if err := member(d, token.String()); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (w *written) member(d *jsontext.Decoder, key string) (err error) {
	if f := requestForm.spelling[key]; f != nil {
		return f.read(d, key, reflect.ValueOf(&w.request), &w.given)
	}
	if f := fileForm.spelling[key]; f != nil {
		return f.read(d, key, reflect.ValueOf(&w.own), &w.ownGiven)
	}
	switch {
	case key == "script":
		var s string
		s, err = text(d, key)
		w.script = s != ""
	case key == "containerConfig", key == "requiresTrigger" && d.PeekKind() == jsontext.KindNull:
		err = d.SkipValue()
	case key == "requiresTrigger":
		var needed bool
		needed, err = flag(d, key)
		w.everyCall = !needed
	case slices.Contains(ignored, key):
		_, err = scalar(d, key)
	default:
		err = unknownKey(key)
	}
	return err
}

// read reads the value of a key into the field of a struct, and notes it in given. It is
// called for every value, including null.
func (f *field) read(d *jsontext.Decoder, key string, to reflect.Value, given *uint64) (err error) {
	if *given&(1<<f.index) != 0 {
		return duplicate(f.key) // in another spelling
	}
	*given |= 1 << f.index
	v := to.Elem().Field(f.index)
	switch to := v.Addr().Interface().(type) {
	case *[]FileRef:
		*to, err = files(d)
	case *[]string:
		*to, err = texts(d, key)
	case *int:
		*to, err = count(d, key)
	case *bool:
		if f.form == "batch" {
			*to, err = batch(d, key)
		} else {
			*to, err = flag(d, key)
		}
	default:
		var s string
		if f.form == "scalar" {
			s, err = scalar(d, key)
		} else {
			s, err = text(d, key)
		}
		v.SetString(s)
	}
	return err
}

// files reads a list whose elements are paths or objects that describe a file.
func files(d *jsontext.Decoder) (all []FileRef, err error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if token.Kind() != jsontext.KindBeginArray {
		return nil, refuse(CodeWrongValue, `key "files" is not a list`, `write "files": [{"filePath": "/workspace/group/report.pdf"}]`)
	}
	for d.PeekKind() != jsontext.KindEndArray {
		if len(all) == MaxFiles {
			return nil, tooManyFiles()
		}
		var ref FileRef
		switch d.PeekKind() {
		case jsontext.KindBeginObject:
			var given uint64
			err = object(d, func(d *jsontext.Decoder, key string) error {
				f := fileForm.spelling[key]
				if f == nil || slices.Contains(onlyAtTop, key) {
					return unknownKey(key)
				}
				return f.read(d, key, reflect.ValueOf(&ref), &given)
			})
		case jsontext.KindString:
			ref.Path, err = text(d, strconv.Itoa(len(all)))
		case jsontext.KindBeginArray:
			err = refuse(CodeWrongValue, `"files" holds a list`, "give each file as a path or an object")
		case jsontext.KindInvalid:
			_, err = d.ReadToken()
		default:
			err = refuse(CodeWrongValue, `"files" holds a value that is not a file`, "give each file as a path or an object")
		}
		if err != nil {
			return nil, err
		}
		all = append(all, ref)
	}
	_, err = d.ReadToken()
	return all, err
}

// complete makes one request of what was given, whatever its spelling.
func (w *written) complete() *Refusal {
	r, typ := &w.request, string(w.request.Type)
	if typ == "send_file" || typ == "send_files" || typ == "message" && len(r.Files) > 0 {
		r.Type = TypeFile
	}
	hasFile := w.own != FileRef{} || len(r.Files) > 0
	switch {
	case typ == "":
		return refuse(CodeMissing, `key "type" is missing`, `write "type": "message" or "type": "file"`)
	case !types[r.Type]:
		return unknownType(typ)
	case r.Type == TypeMessage && hasFile:
		return refuse(CodeConflict, "a request of type \"message\" has fields of a file", `use "type": "file" with "filePath"`)
	case r.Type != TypeMessage && r.Type != TypeFile && w.script:
		return refuse("not_supported", "tasks have no script: the host runs no code of a container", "leave script out, and say in the prompt what to check first")
	case r.Type != TypeFile && hasFile:
		return notOf(typ, "filePath")
	}
	v := reflect.ValueOf(r).Elem()
	for i, f := range requestForm.fields {
		if value := v.Field(i); w.given&(1<<i) != 0 && !f.takes(r.Type) && (f.form == "" && value.Kind() == reflect.String || !value.IsZero()) {
			return notOf(typ, f.key)
		}
	}
	if w.everyCall {
		r.Trigger = ""
	}
	if r.Type == TypeFile {
		return w.completeFiles()
	}
	return nil
}

// completeFiles takes the single file of the top level if none is listed.
func (w *written) completeFiles() *Refusal {
	r, own := &w.request, w.own
	switch {
	case len(r.Files) > 0 && (own.Path != "" || own.Name != "" || own.MIME != ""):
		return refuse(CodeConflict, `the request has "files" and the fields of a single file`, `put every file into "files"`)
	case len(r.Files) == 0 && own.Path != "":
		r.Files = []FileRef{own}
		r.Files[0].Caption = ""
	case len(r.Files) == 0:
		return noFile()
	}
	for i := range r.Files {
		r.Files[i].As = cmp.Or(r.Files[i].As, own.As)
	}
	// No text is lost, and the rest of the program reads one caption only.
	words := []string{r.Text, own.Caption, r.Files[0].Caption}
	r.Files[0].Caption = strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), "\n\n")
	r.Text = ""
	return nil
}
