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
	for limit > 0 && unit.Len(text) > limit {
		end := byteIndex(text, limit, unit)
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

// lastBreak is the index behind the best place to cut s, or 0.
func lastBreak(s string) int {
	for _, sep := range []string{"\n\n", "\n", ". ", " "} {
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
func (s styled) parts(render func(styled) string, limit int, unit media.Unit) (all []string) {
	for s.text != "" {
		end := len(s.text)
		if limit > 0 {
			end = byteIndex(s.text, limit, unit)
		}
		part := ""
		for {
			if end = s.breakBefore(end, limit, unit); end == 0 {
				return all
			}
			part = render(s.piece(0, end).trimmed())
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
			all = append(all, part)
		}
		s = s.piece(end, len(s.text)).trimmed()
	}
	return all
}

// breakBefore is the best place to cut at or before end: none within a link or within
// code that fits into a part, and of longer code the end of a line, if it has one.
func (s styled) breakBefore(end, limit int, unit media.Unit) int {
	if end == len(s.text) {
		return end
	}
	const fences = 16 // units that the form of code takes, at most
	keepsCode := func(i int) bool {
		p, in := s.codeAt(i)
		return s.free(i) && (!in || p.from > 0 && unit.Len(s.text[p.from:p.to]) > limit-fences && s.text[i-1] == '\n')
	}
	endsLine := func(i int) bool {
		_, in := s.codeAt(i)
		return s.free(i) && (!in || s.text[i-1] == '\n')
	}
	for _, fits := range []func(int) bool{keepsCode, endsLine, s.free} {
		if cut := s.lastFit(s.text[:end], fits); cut > 0 {
			return cut
		}
	}
	for _, p := range s.spans { // a word or a link that is longer than a part
		if !p.cuttable() && p.from > 0 && p.from < end && end < p.to {
			return p.from
		}
	}
	return s.whole(end)
}

// lastFit is the best place to cut a text among those that fit, or 0.
func (s styled) lastFit(text string, fits func(int) bool) int {
	for {
		cut := lastBreak(text)
		if cut == 0 {
			cut = strings.LastIndexAny(text, " \n") + 1
		}
		if cut == 0 || strings.TrimSpace(text[:cut]) == "" {
			return 0
		}
		if fits(cut) {
			return cut
		}
		text = text[:cut-1]
	}
}

func (p span) cuttable() bool { return p.kind != Link && p.kind != address }

// free says whether no link lies across a place.
func (s styled) free(i int) bool {
	return !slices.ContainsFunc(s.spans, func(p span) bool { return !p.cuttable() && p.from < i && i < p.to })
}

// codeAt is the code across a place.
func (s styled) codeAt(at int) (span, bool) {
	i := slices.IndexFunc(s.spans, func(p span) bool { return p.kind == Fence && p.from < at && at < p.to })
	if i < 0 {
		return span{}, false
	}
	return s.spans[i], true
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
	return s.spans[:sort.Search(len(s.spans), func(i int) bool { return s.spans[i].from >= to })]
}

// piece is a part of a text with its formats.
func (s styled) piece(from, to int) styled {
	p := styled{text: s.text[from:to]}
	for _, one := range s.until(to) {
		one.from, one.to = max(one.from, from)-from, min(one.to, to)-from
		if one.from < one.to {
			p.spans = append(p.spans, one)
		}
	}
	return p
}

// trimmed is a text without white space around it; the indentation of code stays.
func (s styled) trimmed() styled {
	from := len(s.text) - len(strings.TrimLeftFunc(s.text, unicode.IsSpace))
	for _, p := range s.spans {
		if p.kind == Fence && p.from < from {
			from = max(p.from, strings.LastIndexByte(s.text[:from], '\n')+1)
			break
		}
	}
	return s.piece(from, max(from, len(strings.TrimRightFunc(s.text, unicode.IsSpace))))
}
