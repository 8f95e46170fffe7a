package operator

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

// The bounds of a Recent: some 4 MB if every line is of the greatest length.
const (
	maxLines = 1000
	maxLine  = 2000 // characters of a message, and of its fields
)

// LogLine is one line of the host's log. All its text is printable.
type LogLine struct {
	Seq     int64     `json:"seq"` // greater than that of every earlier line, also of an earlier host's
	Time    time.Time `json:"time"`
	Level   string    `json:"level"`           // DEBUG, INFO, WARN or ERROR
	Group   string    `json:"group,omitempty"` // the folder of the group that the line is about
	Message string    `json:"message"`
	Fields  string    `json:"fields,omitempty"` // name=value, with spaces between; without the group
}

// LogQuery selects lines. The zero LogQuery selects all that are stored.
type LogQuery struct {
	After int64  `json:"after"`           // only lines with a greater Seq
	Group string `json:"group,omitempty"` // only lines about the group with that folder; empty: all lines
	Limit int    `json:"limit,omitempty"` // at most so many lines, the newest; 0: no limit
}

// LogPage is the answer to a LogQuery.
type LogPage struct {
	Lines []LogLine `json:"lines"`
	Next  int64     `json:"next"` // After of the query for what comes later
}

// Recent stores the newest 1,000 lines of a log, cut to 2,000 characters. Its methods
// may be called concurrently.
type Recent struct {
	mu    sync.Mutex
	lines []LogLine // a ring once it is full: next is then the oldest
	next  int
	seq   int64 // of the newest line
}

// NewRecent returns an empty Recent. Its lines are numbered from the present time in
// microseconds, so that a number of an earlier host is smaller.
func NewRecent() *Recent { return &Recent{seq: time.Now().UnixMicro()} }

// Lines returns the lines that match, oldest first.
func (r *Recent) Lines(q LogQuery) LogPage {
	r.mu.Lock()
	defer r.mu.Unlock()
	page := LogPage{Lines: []LogLine{}, Next: r.seq}
	for i := range r.lines {
		if l := r.lines[(r.next+i)%len(r.lines)]; l.Seq > q.After && (q.Group == "" || l.Group == q.Group) {
			page.Lines = append(page.Lines, l)
		}
	}
	if q.Limit > 0 {
		page.Lines = page.Lines[max(0, len(page.Lines)-q.Limit):]
	}
	return page
}

func (r *Recent) add(l LogLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	l.Seq = r.seq
	if len(r.lines) < maxLines {
		r.lines = append(r.lines, l)
		return
	}
	r.lines[r.next] = l
	r.next = (r.next + 1) % maxLines
}

// Copy returns a log that writes to log and adds each line that log's level lets pass
// to r.
func (r *Recent) Copy(log *slog.Logger) *slog.Logger {
	return slog.New(&recorder{Handler: log.Handler(), recent: r})
}

// recorder is the Handler of Copy.
type recorder struct {
	slog.Handler
	recent *Recent
	bound  fields // of WithAttrs
	prefix string // of WithGroup: before each name, with a dot at its end
}

// fields is the text of a line's fields.
type fields struct{ group, text string }

func (f *fields) add(prefix string, a slog.Attr) {
	value := a.Value.Resolve().String()
	switch {
	case a.Equal(slog.Attr{}):
	case prefix+a.Key == "group":
		f.group = printed(value)
	case len(f.text) < 4*maxLine: // more is cut anyway
		if strings.ContainsAny(value, " \"\n\t") || value == "" {
			value = strconv.Quote(value)
		}
		f.text += " " + prefix + a.Key + "=" + value
	}
}

func (h *recorder) Handle(ctx context.Context, rec slog.Record) error {
	f := h.bound
	rec.Attrs(func(a slog.Attr) bool {
		f.add(h.prefix, a)
		return true
	})
	h.recent.add(LogLine{
		Time: rec.Time, Level: rec.Level.String(), Group: f.group, Message: printed(rec.Message), Fields: printed(strings.TrimPrefix(f.text, " ")),
	})
	return h.Handler.Handle(ctx, rec)
}

// printed returns text without what moves a cursor or turns the direction of writing.
func printed(text string) string { return media.Cut(media.Printable(text), maxLine) }

func (h *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	bound := h.bound
	for _, a := range attrs {
		bound.add(h.prefix, a)
	}
	return &recorder{h.Handler.WithAttrs(attrs), h.recent, bound, h.prefix}
}

func (h *recorder) WithGroup(name string) slog.Handler {
	return &recorder{h.Handler.WithGroup(name), h.recent, h.bound, h.prefix + name + "."}
}
