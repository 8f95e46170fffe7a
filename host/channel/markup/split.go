package markup

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/media"
)

// split cuts text into pieces of at most limit units, at the end of a
// paragraph, a line, a sentence or a word where one lies in the second half of
// the piece. White space at a cut is dropped.
func split(text string, limit int, unit media.Unit) []string {
	text = strings.TrimSpace(text)
	var pieces []string
	for limit > 0 {
		end := byteIndex(text, limit, unit)
		if end == len(text) {
			break
		}
		if cut := lastBreak(text[:end]); cut > end/2 {
			end = cut
		}
		pieces = append(pieces, strings.TrimRightFunc(text[:end], unicode.IsSpace))
		text = strings.TrimLeftFunc(text[end:], unicode.IsSpace)
	}
	if text != "" {
		pieces = append(pieces, text)
	}
	return pieces
}

// breaks are what a text is cut behind, the best first.
var breaks = []string{"\n\n", "\n", ". ", " "}

// lastBreak is the index behind the best place to cut s, or 0.
func lastBreak(s string) int {
	for _, sep := range breaks {
		if i := strings.LastIndex(s, sep); i > len(s)/2 {
			return i + len(sep)
		}
	}
	return 0
}

// byteIndex is where the first n units of s end, and at least its first
// character.
func byteIndex(s string, n int, unit media.Unit) int {
	for i, r := range s {
		if n -= unit.Of(r); n < 0 && i > 0 {
			return i
		}
	}
	return len(s)
}

// parts renders a text in pieces of at most limit units, which end as those of split do,
// and never within a link.
func (s styled) parts(render func(styled) string, limit int, unit media.Unit) (all []string, pieces []styled) {
	for s.text != "" {
		end := len(s.text)
		if limit > 0 {
			end = byteIndex(s.text, limit, unit)
		}
		piece, part := styled{}, ""
		for {
			if end = s.breakBefore(end, limit, unit); end == 0 {
				return all, pieces
			}
			piece = s.piece(s.bounds(end))
			part = render(piece)
			over := unit.Len(part) - limit
			if limit <= 0 || over <= 0 {
				break
			}
			_, last := utf8.DecodeLastRuneInString(s.text[:end])
			if end == last {
				part = ""
				break
			}
			end = min(end-last, byteIndex(s.text, unit.Len(s.text[:end])*limit/(limit+over), unit))
		}
		if strings.TrimSpace(part) != "" {
			all, pieces = append(all, part), append(pieces, piece)
		}
		s = s.after(end).trimmed()
	}
	return all, pieces
}

// breakBefore is the best place to cut at or before end: none within a link or within
// code that fits into a part, and of longer code the end of a line, if it has one.
func (s styled) breakBefore(end, limit int, unit media.Unit) int {
	if end == len(s.text) {
		return end
	}
	var uncut []span
	for _, p := range s.until(end) {
		p.from, p.to = max(p.from-s.base, 0), min(p.to-s.base, len(s.text))
		if p.from < p.to && (p.kind == Link || p.kind == address || p.kind == Fence) {
			uncut = append(uncut, p)
		}
	}
	const fences = 16 + maxLanguage // units that the form of code takes, at most
	keepsCode := func(p span, cut int) int {
		if p.kind != Fence || p.from == 0 || byteIndex(s.text[p.from:p.to], limit-fences, unit) == p.to-p.from {
			return p.from
		}
		return s.lineEnd(p, cut)
	}
	endsLine := func(p span, cut int) int {
		if p.kind != Fence {
			return p.from
		}
		return s.lineEnd(p, cut)
	}
	keepsLinks := func(p span, cut int) int {
		if p.kind != Fence {
			return p.from
		}
		return cut
	}
	for _, fits := range []func(span, int) int{keepsCode, endsLine, keepsLinks} {
		if cut := s.lastFit(end, uncut, fits); cut > 0 {
			return cut
		}
	}
	// A word or a link that is longer than a part.
	if p, in := covering(uncut, end-1); in && p.kind != Fence && p.from > 0 && end < p.to {
		return p.from
	}
	return s.whole(end)
}

// lineEnd is the end of the last line of a span at or before a place in it; if there is
// none, where the span begins.
func (s styled) lineEnd(p span, at int) int {
	return p.from + strings.LastIndexByte(s.text[p.from:at], '\n') + 1
}

// lastFit is the best place to cut at or before end, or 0. Within one of the uncut spans,
// fits gives the last place that will do, at or before the one given; where the span
// begins, if none does.
func (s styled) lastFit(end int, uncut []span, fits func(p span, cut int) int) int {
	cut, best := 0, len(breaks)
	for i := end; i > 0 && best > 0; i-- {
		kind := slices.IndexFunc(breaks, func(sep string) bool { return strings.HasSuffix(s.text[:i], sep) })
		if kind < 0 {
			continue
		}
		if p, in := covering(uncut, i-1); in && i < p.to {
			if fit := fits(p, i); fit < i {
				i = fit + 1
				continue
			}
		}
		late := i-len(breaks[kind]) > end/2
		if late && kind < best || cut == 0 {
			cut, best = i, kind
		}
		if !late {
			break
		}
	}
	if strings.TrimSpace(s.text[:cut]) == "" {
		return 0
	}
	return cut
}

// whole is the last place up to end that does not tear apart what is shown as one
// character; end itself if there is none.
func (s styled) whole(end int) int {
	for i := end; i > 0; {
		next, _ := utf8.DecodeRuneInString(s.text[i:])
		last, n := utf8.DecodeLastRuneInString(s.text[:i])
		const joiner = '\u200d'
		if !unicode.In(next, unicode.M) && next != joiner && last != joiner && !unicode.Is(skinTones, next) && !(isFlag(last) && isFlag(next)) {
			return i
		}
		i -= n
	}
	return end
}

var skinTones = &unicode.RangeTable{R32: []unicode.Range32{{Lo: 0x1F3FB, Hi: 0x1F3FF, Stride: 1}}}

// isFlag says whether a character is half a flag.
func isFlag(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// until are the spans that begin before a place. Without it, a text of many spans
// would take time that grows with the square of these.
func (s styled) until(to int) []span {
	return s.spans[:sort.Search(len(s.spans), func(i int) bool { return s.spans[i].from-s.base >= to })]
}

// piece is a part of a text with its formats, which count from its beginning.
func (s styled) piece(from, to int) styled {
	p := styled{text: s.text[from:to]}
	for _, one := range s.until(to) {
		one.from, one.to = max(one.from-s.base, from)-from, min(one.to-s.base, to)-from
		if one.from < one.to {
			p.spans = append(p.spans, one)
		}
	}
	return p
}

// after is what comes behind a place. It uses the spans that end before for the others,
// so that a text of many parts is not copied for each.
func (s styled) after(from int) styled {
	first := len(s.until(from))
	for i := first - 1; i >= 0; i-- {
		if p := s.spans[i]; p.to-s.base > from {
			first--
			s.spans[first] = p
		}
	}
	return styled{s.text[from:], s.spans[first:], s.base + from}
}

// trimmed is a text without white space around it.
func (s styled) trimmed() styled {
	from, to := s.bounds(len(s.text))
	s.text = s.text[:to]
	return s.after(from)
}

// bounds are where the words up to a place begin and end. The indentation of code is part
// of these.
func (s styled) bounds(end int) (from, to int) {
	text := s.text[:end]
	from = len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
	for _, p := range s.until(from) {
		if p.kind == Fence {
			from = max(p.from-s.base, strings.LastIndexByte(text[:from], '\n')+1)
			break
		}
	}
	return from, max(from, len(strings.TrimRightFunc(text, unicode.IsSpace)))
}
