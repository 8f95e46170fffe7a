package markup

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/media"
)

// telegram is media.MarkupTelegram: the tags become entities, so they take no room and
// nothing in the text can become one.
var telegram = dialect{width: 60, links: true, web: true}

var tagOf = map[Kind]string{Bold: "b", Italic: "i", Strike: "s", Mono: "code", Fence: "pre", Quote: "blockquote", Link: "a"}

// tagged is a piece of a text with tags. Telegram takes no code within another format
// than a quote: code interrupts the format, and within a link there is no code.
func tagged(s styled) string {
	var b strings.Builder
	var open []span
	at := 0
	write := func(to int) {
		names := !slices.ContainsFunc(open, func(p span) bool { return p.kind == Fence || p.kind == Link })
		for i := at; i < to && names; i++ {
			if s.mentions(i) {
				b.WriteString(media.TagEscape.Replace(s.text[at:i+1]) + noName)
				at = i + 1
			}
		}
		b.WriteString(media.TagEscape.Replace(s.text[at:to]))
		at = to
	}
	closeUntil := func(to int) {
		for i := len(open) - 1; i >= 0 && open[i].to <= to; i-- {
			write(open[i].to)
			b.WriteString("</" + tagOf[open[i].kind] + ">")
			open = open[:i]
		}
	}
	for _, p := range s.spans {
		closeUntil(p.from)
		if tagOf[p.kind] == "" || p.kind == Mono && slices.ContainsFunc(open, func(p span) bool { return p.kind == Link }) {
			continue
		}
		write(p.from)
		if p.kind == Mono {
			b.WriteString(interrupting(open, media.TagEscape.Replace(s.text[p.from:p.to])))
			at = p.to
			continue
		}
		b.WriteString("<" + tagOf[p.kind])
		switch {
		case p.kind == Link:
			b.WriteString(` href="` + media.TagEscape.Replace(p.more) + `"`)
		case p.kind == Fence && p.more != "":
			b.WriteString(` language="` + p.more + `"`)
		}
		b.WriteString(">")
		open = append(open, p)
	}
	closeUntil(len(s.text))
	write(len(s.text))
	return empty.Replace(b.String())
}

// empty are formats of nothing, which code leaves behind that had them for itself.
var empty = strings.NewReplacer("<b></b>", "", "<i></i>", "", "<s></s>", "")

// interrupting is code, and the formats but quotes that are open end before it and begin
// again behind it.
func interrupting(open []span, code string) string {
	before, behind := "", ""
	for _, p := range open {
		if p.kind != Quote {
			before, behind = "</"+tagOf[p.kind]+">"+before, behind+"<"+tagOf[p.kind]+">"
		}
	}
	return before + "<code>" + code + "</code>" + behind
}

// noName stands invisibly between an @ and a name, so that these are no mention, which
// would notify somebody.
const noName = "\u2060"

// mentions says whether Telegram would take what stands at a place for a mention.
func (s styled) mentions(i int) bool {
	if s.text[i] != '@' || i+1 == len(s.text) || s.text[i+1] >= utf8.RuneSelf || !isWord(rune(s.text[i+1])) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s.text[:i])
	return i == 0 || !isWord(before)
}
