// Package emoji says what counts as one emoji, and which one a platform has that is
// nearest to another.
package emoji

import (
	_ "embed"
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel"
)

// table has a line for each emoji without a skin tone: its character, Slack's name of
// it, and further names. The names are those of emoji-data 16.0.0 (emoji-datasource in
// npm). The order is Unicode's: neighbours are alike.
//
//go:embed emoji.txt
var table string

// All walks the emoji without skin tones, each with Slack's names of it.
func All() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for line := range strings.Lines(table) {
			if words := strings.Fields(line); !yield(words[0], words[1:]) {
				return
			}
		}
	}
}

// Tones are the skin tones, from light to dark.
var Tones = []string{"🏻", "🏼", "🏽", "🏾", "🏿"}

const (
	variation = '\ufe0f' // shows the character before it as a picture
	joiner    = '\u200d'
	keycap    = '\u20e3'
	maxBytes  = 64
)

// mixed are the sequences that Unicode has with two skin tones only.
const mixed = " 👩‍🤝‍👩 👨‍🤝‍👨 👩‍🤝‍👨 🧑‍❤‍🧑 🧑‍❤‍💋‍🧑 🫱‍🫲 "

// IsOne reports whether s shows as one emoji and nothing else: a picture, with a skin
// tone or without, a keycap, a flag, or a sequence that Unicode lists.
func IsOne(s string) bool {
	if s == "" || len(s) > maxBytes || !utf8.ValidString(s) {
		return false
	}
	plain := Plain(s)
	if r := []rune(plain); len(r) == 1 && isNew(r[0]) || strings.Contains(mixed, " "+plain+" ") {
		return true
	}
	_, size := utf8.DecodeRuneInString(plain)
	for line := range strings.Lines(table) { // without All, as most lines are passed over at once
		if !strings.HasPrefix(line, plain[:size]) {
			continue
		}
		if char, _, _ := strings.Cut(line, " "); Bare(char) == plain {
			return true
		}
	}
	return false
}

// isNew reports whether r is in the blocks to which Unicode adds its new emoji, so that
// an emoji younger than the table counts.
func isNew(r rune) bool { return r >= 0x1fa70 && r <= 0x1faff || r >= 0x1f6d0 && r <= 0x1f6ff }

// Plain is an emoji without its variation selectors and skin tones, as far as they stand
// where they belong: one of each, behind a picture.
func Plain(s string) string {
	var out []rune
	selects, colours := false, false // what may follow
	for _, r := range s {
		switch {
		case r == variation && selects:
			selects = false
		case isTone(r) && colours:
			selects, colours = false, false
		default:
			out = append(out, r)
			colours = isPicture(r)
			selects = colours || r < utf8.RuneSelf
		}
	}
	return string(out)
}

func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

func isPicture(r rune) bool {
	flag := r >= 0x1f1e6 && r <= 0x1f1ff || r >= 0xe0000
	return r > utf8.RuneSelf && r != variation && r != joiner && r != keycap && !isTone(r) && !flag
}

// Bare is an emoji without its variation selectors, which may be left out.
func Bare(s string) string { return strings.ReplaceAll(s, string(variation), "") }

// Hint adds to a platform's refusal of the emoji s the nearest that the platform has, by
// has. Other errors are returned as they are.
func Hint(err error, s string, has func(string) bool) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Code != "unknown_emoji" {
		return err
	}
	near := Nearest(s, has)
	if near == "" {
		return err
	}
	hinted := *e
	hinted.Hint = "react with " + near + ", which is the nearest, or with another emoji"
	return &hinted
}

// Nearest is the emoji most like s that a platform has, by has; empty: it has none. s
// itself does not count.
func Nearest(s string, has func(string) bool) string {
	var all []string
	for char := range All() {
		all = append(all, char)
	}
	at := indexOf(s, all)
	for far := range len(all) {
		for _, i := range []int{at - far, at + far} {
			if i >= 0 && i < len(all) && Bare(all[i]) != Bare(s) && has(all[i]) {
				return all[i]
			}
		}
	}
	return ""
}

// indexOf returns the index of the emoji that s is without its skin tones, or else of its
// first picture, or else of the single emoji next to it by number.
func indexOf(s string, all []string) int {
	plain := Plain(s)
	first, _, _ := strings.Cut(plain, string(joiner))
	for _, want := range []string{plain, first} {
		if i := slices.IndexFunc(all, func(c string) bool { return Bare(c) == want }); i >= 0 {
			return i
		}
	}
	best, least := 0, rune(utf8.MaxRune)
	number, _ := utf8.DecodeRuneInString(plain)
	for i, c := range all {
		r, size := utf8.DecodeRuneInString(c)
		if far := max(r-number, number-r); size == len(c) && far < least {
			best, least = i, far
		}
	}
	return best
}

// Names translate between characters and Slack's names, which many platforms use. NewNames makes one.
type Names struct {
	names map[string]string // by character, without its variation selectors
	chars map[string]string // by name
}

// NewNames reads the table.
func NewNames() Names {
	e := Names{map[string]string{}, map[string]string{}}
	for char, names := range All() {
		e.names[Bare(char)] = names[0]
		for _, name := range names {
			e.chars[name] = char
		}
	}
	return e
}

// toneMark is before the number of a skin tone, which Slack counts from 2 on.
const toneMark = "::skin-tone-"

// Char returns the character of Slack's name of an emoji. For a workspace's own emoji, which has
// no character, it returns the name between colons.
func (e Names) Char(name string) string {
	if name == "" {
		return ""
	}
	base, tone, toned := strings.Cut(name, toneMark)
	char, ok := e.chars[base]
	if !ok {
		return channel.CleanName(":" + base + ":")
	}
	if toned && len(tone) == 1 && tone[0] >= '2' && tone[0] <= '6' {
		first := []rune(char)[0]
		rest := strings.TrimPrefix(strings.TrimPrefix(char, string(first)), "\ufe0f")
		char = string(first) + Tones[tone[0]-'2'] + rest
	}
	return char
}

// Name returns Slack's name of a character; false if Slack has none.
func (e Names) Name(char string) (string, bool) {
	char = Bare(char)
	if name, ok := e.names[char]; ok {
		return name, true
	}
	for i, tone := range Tones {
		if base := strings.ReplaceAll(char, tone, ""); base != char {
			name, ok := e.names[base]
			return name + toneMark + string(rune('2'+i)), ok
		}
	}
	return "", false
}

// Has reports whether Slack has an emoji.
func (e Names) Has(char string) bool {
	_, ok := e.Name(char)
	return ok
}
