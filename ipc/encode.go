package ipc

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// Encode returns a request as indented JSON, which Decode reads back unchanged.
// NanoClaw v1 and its forks can read a message and a request with one file. If the
// request breaks a limit, the error is a *Refusal and permanent.
func Encode(r Request) ([]byte, error) { return encode(r, TypeFile) }

// encode is Encode with a choice of the type for a request with one file.
func encode(r Request, file Type) ([]byte, error) {
	if refusal := r.check(); refusal != nil {
		return nil, refusal
	}
	if len(r.Files) == 1 {
		r.Type = file
	}
	var buf bytes.Buffer
	e := encoder{Encoder: jsontext.NewEncoder(&buf, jsontext.WithIndent("  "), jsontext.EscapeForJS(true))}
	e.write(jsontext.BeginObject)
	e.members(requestForm, reflect.ValueOf(r))
	e.write(jsontext.EndObject)
	if e.err != nil {
		return nil, fmt.Errorf("encode request: %w", e.err)
	}
	if buf.Len() > MaxRequest {
		return nil, TooLarge(int64(buf.Len()))
	}
	return buf.Bytes(), nil
}

// encoder keeps its first error.
type encoder struct {
	*jsontext.Encoder
	err error
}

func (e *encoder) write(t jsontext.Token) {
	if e.err == nil {
		e.err = e.WriteToken(t)
	}
}

// members writes the keys that have a value. A single file has its keys at the top level.
func (e *encoder) members(form form, of reflect.Value) {
	for i, f := range form.fields {
		v := of.Field(i)
		if v.IsZero() {
			continue
		}
		if refs, ok := v.Interface().([]FileRef); ok && len(refs) == 1 {
			e.members(fileForm, v.Index(0))
			continue
		}
		e.write(jsontext.String(f.key))
		e.value(f, v)
	}
}

func (e *encoder) value(f field, v reflect.Value) {
	switch value := v.Interface().(type) {
	case []FileRef:
		e.write(jsontext.BeginArray)
		for i := range value {
			e.write(jsontext.BeginObject)
			e.members(fileForm, v.Index(i))
			e.write(jsontext.EndObject)
		}
		e.write(jsontext.EndArray)
	case []string:
		e.write(jsontext.BeginArray)
		for _, s := range value {
			e.write(jsontext.String(s))
		}
		e.write(jsontext.EndArray)
	case int:
		e.write(jsontext.Int(int64(value)))
	case bool:
		if f.form == "batch" {
			e.write(jsontext.String(batchResults))
		} else {
			e.write(jsontext.True)
		}
	default:
		e.write(jsontext.String(v.String()))
	}
}
