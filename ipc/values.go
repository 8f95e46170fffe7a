package ipc

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// next reads a token that must be of one of these kinds. what says what the value of the
// key should be.
func next(d *jsontext.Decoder, key, what, hint string, kinds ...jsontext.Kind) (jsontext.Token, error) {
	token, err := d.ReadToken()
	if err == nil && !slices.Contains(kinds, token.Kind()) {
		err = refuse(CodeWrongValue, "key "+quote(key)+" is not "+what, hint)
	}
	return token, err
}

func text(d *jsontext.Decoder, key string) (string, error) {
	token, err := next(d, key, "a text", "write a text in quotes, or leave the key out", jsontext.KindString)
	if err != nil {
		return "", err
	}
	s := token.String()
	if refusal := checkText(key, s); refusal != nil {
		return "", refusal
	}
	return s, nil
}

// scalar reads a text or a number. True, false and null are ignored.
func scalar(d *jsontext.Decoder, key string) (string, error) {
	switch d.PeekKind() {
	case jsontext.KindTrue, jsontext.KindFalse, jsontext.KindNull:
		return "", d.SkipValue()
	case jsontext.KindNumber:
		token, err := d.ReadToken()
		return token.String(), err
	}
	return text(d, key)
}

func flag(d *jsontext.Decoder, key string) (bool, error) {
	token, err := next(d, key, "true or false", "write true or false, or leave the key out", jsontext.KindTrue, jsontext.KindFalse)
	return err == nil && token.Bool(), err
}

// batchResults is the one value of "results".
const batchResults = "batch"

func batch(d *jsontext.Decoder, key string) (bool, error) {
	s, err := text(d, key)
	if err == nil && s != batchResults {
		err = refuse(CodeWrongValue, "key "+quote(key)+" is "+quote(s), `write "results": "batch", or leave the key out`)
	}
	return err == nil, err
}

// count reads a whole number that is not negative.
func count(d *jsontext.Decoder, key string) (int, error) {
	const what, hint = "a whole number", "write a number such as 60, or leave the key out"
	token, err := next(d, key, what, hint, jsontext.KindNumber)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(token.String())
	if err != nil || n < 0 {
		return 0, refuse(CodeWrongValue, "key "+quote(key)+" is not "+what, hint)
	}
	return n, nil
}

func texts(d *jsontext.Decoder, key string) ([]string, error) {
	if _, err := next(d, key, "a list", "write a list of texts", jsontext.KindBeginArray); err != nil {
		return nil, err
	}
	all := []string{}
	for d.PeekKind() != jsontext.KindEndArray {
		s, err := text(d, strconv.Itoa(len(all)))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	_, err := d.ReadToken()
	return all, err
}

// checkText refuses a text that some readers read in another way: with a NUL or an
// undecodable character.
func checkText(key, s string) *Refusal {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return refuse(CodeWrongValue, "key "+quote(key)+" holds a NUL character", "leave it out")
	case strings.ContainsRune(s, utf8.RuneError):
		return refuse(CodeWrongValue, "key "+quote(key)+" holds a character that could not be decoded (U+FFFD)", "write the text as valid UTF-8")
	}
	return nil
}
