package ipc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Decode parses one request. Its error is a *Refusal and permanent.
//
// Keys match exactly and once; a key and its other spelling count as the same.
// encoding/json would let the last of two chatJid win, take CHATJID for it,
// and turn bytes that are no UTF-8 into U+FFFD: each has let a request say
// one thing to the check and another to the sender elsewhere, so all of them
// are refused here.
func Decode(b []byte) (Request, error) {
	if len(b) > MaxRequest {
		return Request{}, tooLarge(int64(len(b)))
	}
	if !utf8.Valid(b) {
		return Request{}, refuse(CodeMalformed, "the request is not valid UTF-8", "write the JSON as UTF-8")
	}
	d := decoder{json.NewDecoder(bytes.NewReader(b))}
	d.dec.UseNumber()
	v, refusal := d.request()
	if refusal != nil {
		return Request{}, refusal
	}
	r, refusal := v.request()
	if refusal == nil {
		refusal = r.check()
	}
	if refusal != nil {
		return Request{}, refusal
	}
	return r, nil
}

// values is one JSON object, spellings unified.
type values struct {
	text  [slots]string
	seen  uint32
	files []values
}

type decoder struct{ dec *json.Decoder }

// request reads the one object that a request is, and the end after it.
func (d decoder) request() (values, *Refusal) {
	t, err := d.dec.Token()
	if err != nil {
		return values{}, malformed(err)
	}
	if t != json.Delim('{') {
		return values{}, refuse(CodeMalformed, "the request is not a JSON object", "write one object per file")
	}
	v, refusal := d.object(requestSlot)
	if refusal != nil {
		return values{}, refusal
	}
	if _, err := d.dec.Token(); err != io.EOF {
		return values{}, refuse(CodeMalformed, "something follows the JSON object", "write one object per file")
	}
	return v, nil
}

// object reads up to the closing brace. Only "files" may nest, and only once,
// because fileSlot does not know it.
func (d decoder) object(slotOf func(string) slot) (values, *Refusal) {
	var v values
	for d.dec.More() {
		t, err := d.dec.Token()
		if err != nil {
			return v, malformed(err)
		}
		key, _ := t.(string)
		s := slotOf(key)
		if s == none {
			return v, refuse(CodeUnknownKey, "key "+quote(key)+" is not known", "keys are case-sensitive; leave out what the protocol does not name")
		}
		if v.seen&(1<<s) != 0 {
			return v, refuse(CodeDuplicateKey, "key "+quote(key)+" is given twice, or in two spellings", "give each key once")
		}
		v.seen |= 1 << s
		if s == slotFiles {
			v.files, err = d.files()
		} else {
			v.text[s], err = d.scalar(key, s >= slotTime)
		}
		if err != nil {
			return v, asRefusal(err)
		}
	}
	if _, err := d.dec.Token(); err != nil {
		return v, malformed(err)
	}
	return v, nil
}

// files reads a list of paths, or of objects that each name one.
func (d decoder) files() ([]values, error) {
	t, err := d.dec.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, refuse(CodeWrongValue, `key "files" is not a list`, `write "files": [{"filePath": "/workspace/group/report.pdf"}]`)
	}
	var all []values
	for d.dec.More() {
		if len(all) == MaxFiles {
			return nil, tooManyFiles()
		}
		t, err := d.dec.Token()
		if err != nil {
			return nil, err
		}
		var v values
		switch t := t.(type) {
		case string:
			v.text[slotPath] = t
			if refusal := checkText("files", t); refusal != nil {
				return nil, refusal
			}
		case json.Delim:
			if t != '{' {
				return nil, refuse(CodeWrongValue, `"files" holds a list`, "give each file as a path or an object")
			}
			var refusal *Refusal
			if v, refusal = d.object(fileSlot); refusal != nil {
				return nil, refusal
			}
		default:
			return nil, refuse(CodeWrongValue, `"files" holds something else than files`, "give each file as a path or an object")
		}
		all = append(all, v)
	}
	_, err = d.dec.Token()
	return all, err
}

// scalar reads a text; where loose is set, any value that is no list and no object.
func (d decoder) scalar(key string, loose bool) (string, error) {
	t, err := d.dec.Token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if _, nested := t.(json.Delim); !ok && loose && !nested {
		if n, ok := t.(json.Number); ok {
			return n.String(), nil
		}
		return "", nil
	}
	if !ok {
		return "", refuse(CodeWrongValue, "key "+quote(key)+" is not a text", "write a text in quotes, or leave the key out")
	}
	if refusal := checkText(key, s); refusal != nil {
		return "", refusal
	}
	return s, nil
}

// checkText refuses what means different things to different readers. A lone
// surrogate arrives here as U+FFFD.
func checkText(key, s string) *Refusal {
	if strings.ContainsRune(s, 0) {
		return refuse(CodeWrongValue, "key "+quote(key)+" holds a NUL character", "leave it out")
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, utf8.RuneError) {
		return refuse(CodeWrongValue, "key "+quote(key)+" holds a character that could not be decoded (U+FFFD)", "write the text as valid UTF-8")
	}
	return nil
}

func malformed(err error) *Refusal {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return refuse(CodeMalformed, "the request ends in the middle", "write it under a dotted name and rename it when it is whole")
	}
	return refuse(CodeMalformed, "the request is not valid JSON", "write one JSON object per file")
}

func asRefusal(err error) *Refusal {
	if r, ok := err.(*Refusal); ok {
		return r
	}
	return malformed(err)
}

func tooLarge(size int64) *Refusal {
	return refuse(CodeTooLarge, fmt.Sprintf("the request has %d bytes; at most %d are taken", size, MaxRequest),
		"write a long text to a file and send the file")
}

func tooManyFiles() *Refusal {
	return refuse(CodeTooManyFiles, fmt.Sprintf("a request names at most %d files", MaxFiles), "send the rest in another request")
}

// quote makes foreign text fit for a log, a terminal and a page.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}
