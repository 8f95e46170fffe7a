package audit

import (
	"regexp"
	"slices"
	"strings"
)

// What a trail may do without.
const (
	Captions = "captions" // texts and captions
	Numbers  = "numbers"  // members' telephone numbers: a keyed hash takes their place, see Mask
	Names    = "names"    // the names of files
)

// leavesOut says whether entries of now do without something.
func (l *Log) leavesOut(what string) bool {
	if l.o.Settings == nil {
		return what != Names
	}
	return slices.Contains(l.o.Settings.AuditLeavesOut(), what)
}

// quoted is a name as messages quote it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// leaveOut removes from an entry what the trail does without, and cuts its texts. The
// parts of e are not changed: they belong to the caller.
func (l *Log) leaveOut(e *Entry) {
	e.Parts = slices.Clone(e.Parts)
	for i := range e.Parts {
		p := &e.Parts[i]
		if l.leavesOut(Captions) {
			p.Text = ""
		}
		if l.leavesOut(Names) {
			p.Name = ""
		}
		p.Text = l.plain(p.Text)
	}
	if l.leavesOut(Names) {
		e.Message = quoted.ReplaceAllString(e.Message, `"…"`)
	}
	e.Message = l.plain(e.Message)
}

// plain is a text without members' numbers, if they are left out, and cut.
func (l *Log) plain(text string) string {
	if l.leavesOut(Numbers) {
		text = maskIn(l.key, text)
	}
	return cut(text)
}

func cut(s string) string {
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
