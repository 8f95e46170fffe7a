package ipc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
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
	if refusal != nil {
		return Request{}, refusal
	}
	r, refusal := w.request()
	if refusal == nil {
		refusal = r.check()
	}
	if refusal != nil {
		return Request{}, refusal
	}
	return r, nil
}

// parse reads the single JSON object of a request. A lone surrogate becomes U+FFFD,
// which checkText refuses.
func parse(b []byte) (w written, refusal *Refusal) {
	if len(b) > MaxRequest {
		return w, tooLarge(int64(len(b)))
	}
	if !utf8.Valid(b) {
		return w, refuse(CodeMalformed, "the request is not valid UTF-8", "write the JSON as UTF-8")
	}
	if start := bytes.TrimLeft(b, " \t\r\n"); len(start) > 0 && start[0] != '{' {
		return w, refuse(CodeMalformed, "the request is not a JSON object", "write one object per file")
	}
	if err := json.Unmarshal(b, &w, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return w, asRefusal(err)
	}
	return w, nil
}

// asRefusal turns a JSON error into a Refusal that says what is wrong.
func asRefusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
		return refuse(CodeUnknownKey, "key "+quote(e.JSONPointer.LastToken())+" is not known", "keys are case-sensitive; leave out keys that the protocol does not define")
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return duplicate(e.JSONPointer.LastToken())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(CodeMalformed, "the request ends in the middle", "write it under a dotted name and rename it when it is whole")
	}
	return refuse(CodeMalformed, "the request is not valid JSON", "write one JSON object per file")
}

// text is the value of a key that must be a string.
type text struct {
	value string
	given bool
}

// UnmarshalJSONFrom is called for every value, including null.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != jsontext.KindString {
		return refuse(CodeWrongValue, "key "+quote(d.StackPointer().LastToken())+" is not a text", "write a text in quotes, or leave the key out")
	}
	*t = text{token.String(), true}
	if fit(t.value) {
		return nil
	}
	return checkText(d.StackPointer().LastToken(), t.value)
}

// scalar is the value of a key that may be a string or a number. True, false and
// null are ignored.
type scalar string

// UnmarshalJSONFrom is called for every value, including null.
func (s *scalar) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case jsontext.KindTrue, jsontext.KindFalse, jsontext.KindNull:
		return d.SkipValue()
	case jsontext.KindNumber:
		token, err := d.ReadToken()
		*s = scalar(token.String())
		return err
	}
	var t text
	err := t.UnmarshalJSONFrom(d)
	*s = scalar(t.value)
	return err
}

// entries is a list whose elements are paths or objects that describe a file.
type entries []entry

// UnmarshalJSONFrom is called for every value, including null.
func (all *entries) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != jsontext.KindBeginArray {
		return refuse(CodeWrongValue, `key "files" is not a list`, `write "files": [{"filePath": "/workspace/group/report.pdf"}]`)
	}
	for d.PeekKind() != jsontext.KindEndArray {
		if len(*all) == MaxFiles {
			return tooManyFiles()
		}
		var e entry
		switch d.PeekKind() {
		case jsontext.KindBeginObject:
			err = json.UnmarshalDecode(d, &e)
		case jsontext.KindBeginArray:
			err = refuse(CodeWrongValue, `"files" holds a list`, "give each file as a path or an object")
		case jsontext.KindString:
			err = e.FilePath.UnmarshalJSONFrom(d)
		case jsontext.KindInvalid:
			_, err = d.ReadToken()
		default:
			err = refuse(CodeWrongValue, `"files" holds a value that is not a file`, "give each file as a path or an object")
		}
		if err != nil {
			return err
		}
		*all = append(*all, e)
	}
	_, err = d.ReadToken()
	return err
}

// fit reports whether every reader reads a text in the same way: it has no NUL and
// no undecodable character.
func fit(s string) bool {
	return strings.IndexByte(s, 0) < 0 && !strings.ContainsRune(s, utf8.RuneError)
}

// checkText refuses a text that is not fit; see fit.
func checkText(key, s string) *Refusal {
	if fit(s) {
		return nil
	}
	if strings.ContainsRune(s, 0) {
		return refuse(CodeWrongValue, "key "+quote(key)+" holds a NUL character", "leave it out")
	}
	return refuse(CodeWrongValue, "key "+quote(key)+" holds a character that could not be decoded (U+FFFD)", "write the text as valid UTF-8")
}

func duplicate(key string) *Refusal {
	return refuse(CodeDuplicateKey, "key "+quote(key)+" is given twice, or in two spellings", "give each key once")
}

func tooLarge(size int64) *Refusal {
	return refuse(CodeTooLarge, fmt.Sprintf("the request has %d bytes; the limit is %d", size, MaxRequest),
		"write a long text to a file and send the file")
}

func tooManyFiles() *Refusal {
	return refuse(CodeTooManyFiles, fmt.Sprintf("a request names at most %d files", MaxFiles), "send the rest in another request")
}

// quote makes untrusted text safe for a log, a terminal and a page.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}
