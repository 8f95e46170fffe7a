package ipc

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// asRefusal turns an error of reading JSON into a Refusal that says what is wrong.
func asRefusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return duplicate(e.JSONPointer.LastToken())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(CodeMalformed, "the request ends in the middle", "write it under a dotted name and rename it when it is whole")
	}
	return refuse(CodeMalformed, "the request is not valid JSON", "write one JSON object per file")
}

func unknownKey(key string) *Refusal {
	return refuse(CodeUnknownKey, "key "+quote(key)+" is not known", "keys are case-sensitive; leave out keys that the protocol does not define")
}

func unknownType(typ string) *Refusal {
	return refuse(CodeUnknownType, "type "+quote(typ)+" is not known", `use "message", "file", or another type of docs/protocol.md`)
}

func notOf(typ, key string) *Refusal {
	return refuse(CodeConflict, "a request of type "+quote(typ)+" has no key "+quote(key), "leave it out, or correct the type")
}

func duplicate(key string) *Refusal {
	return refuse(CodeDuplicateKey, "key "+quote(key)+" is given twice, or in two spellings", "give each key once")
}

// TooLarge returns the refusal of a request of this size, which is above MaxRequest.
func TooLarge(size int64) *Refusal {
	return refuse(CodeTooLarge, fmt.Sprintf("the request has %d bytes; the limit is %d", size, MaxRequest),
		"write a long text to a file and send the file")
}

func tooManyFiles() *Refusal {
	return refuse(CodeTooManyFiles, fmt.Sprintf("a request names at most %d files", MaxFiles), "send the rest in another request")
}

func noFile() *Refusal {
	return refuse(CodeMissing, "the request names no file", `give "filePath", or "files" with at least one`)
}

// quote makes untrusted text safe for a log, a terminal and a page.
func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}
