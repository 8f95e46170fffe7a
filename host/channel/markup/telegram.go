package markup

import (
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// telegram is media.MarkupTelegram: the tags become entities, so they take no room and
// nothing in the text can become one.
var telegram = dialect{width: 60, links: true, web: true}

var tagOf = map[Kind]string{Bold: "b", Italic: "i", Strike: "s", Mono: "code", Fence: "pre", Quote: "blockquote", Link: "a"}

// tagged is a piece of a text with tags. Code within another format than a quote is
// shown as that format alone, since Telegram takes no code there.
func tagged(s styled) string {
	var b strings.Builder
	var open []span
	at := 0
	write := func(to int) {
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
		if tagOf[p.kind] == "" || p.kind == Mono && len(open) > 0 && open[len(open)-1].kind != Quote {
			continue
		}
		write(p.from)
		b.WriteString("<" + tagOf[p.kind])
		if p.kind == Link {
			b.WriteString(` href="` + media.TagEscape.Replace(p.url) + `"`)
		}
		b.WriteString(">")
		open = append(open, p)
	}
	closeUntil(len(s.text))
	write(len(s.text))
	return b.String()
}
