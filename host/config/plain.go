package config

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
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
