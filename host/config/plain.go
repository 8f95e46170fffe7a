package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/longshore-bridge/longshore/host/setting"
)

// blanks are the spaces that editors and chat apps put in place of a plain one, and unseen the
// characters without width that they add: the mark of a file's byte order, joiners of words.
const (
	blanks = "\u00a0\u2007\u202f\u3000"
	unseen = "\ufeff\u200b\u2060\u00ad"
	quotes = "“”„‟«»‘’‚‛＂＇`´"
)

// plainText replaces blanks and takes out unseen characters. It leaves what is not UTF-8.
func plainText(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(blanks, r):
			return ' '
		case strings.ContainsRune(unseen, r):
			return -1
		}
		return r
	}, text)
}

// encoded rejects a file that is not UTF-8, such as one that an editor of Windows calls Unicode.
func (s *source) encoded() bool {
	if utf8.Valid(s.text) {
		return true
	}
	s.badAt(&token.Position{Line: 1, Column: 1}, "", "the file is not UTF-8", "save it as UTF-8 in your editor")
	return false
}

// quoted rejects a text that stands in the quotes of a word processor, which YAML takes for letters.
func (s *source) quoted(key string, node ast.Node) bool {
	text, ok := node.(*ast.StringNode)
	if !ok || text.Token.Type != token.StringType || text.Value == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(text.Value)
	if !strings.ContainsRune(quotes, first) {
		return false
	}
	s.bad(key, fmt.Sprintf("the value begins with %c, which is no plain quote", first), `write " before and after the value; if the sign belongs to it, too`)
	return true
}

// plainSecret takes off what copying adds to a secret: ends of lines, blanks and marks around it.
// It rejects a secret with unseen characters or quotes that it cannot take off.
func (c *checker) plainSecret(key, text string) Secret {
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(blanks+unseen, r) })
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	at := strings.IndexAny(text, blanks+unseen)
	switch {
	case text == "":
		c.bad(key, "the secret is empty", "write it on one line")
	case at >= 0:
		r, _ := utf8.DecodeRuneInString(text[at:])
		c.bad(key, fmt.Sprintf("the secret holds %U, a character that cannot be seen", r), "copy it again, without the text around it")
	case first > unicode.MaxASCII && strings.ContainsRune(quotes, first) || last > unicode.MaxASCII && strings.ContainsRune(quotes, last):
		c.bad(key, "the secret stands in quotes", "leave them out")
	default:
		return setting.NewSecret(text)
	}
	return Secret{}
}
