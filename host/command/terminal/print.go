package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf16"

	"github.com/dustin/go-humanize"

	"github.com/longshore-bridge/longshore/media"
)

// PrintJSON prints v for a program, under --watch as one line. encoding/json escapes the control
// characters; the bidi controls, which a terminal would obey, are escaped here.
func (e *Terminal) PrintJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if e.Watched == nil {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err := fmt.Fprint(e.Stdout, escapeInvisible(b.String()))
	return err
}

// jsonList prints a list as printJSON does, one element at a time.
type jsonList struct {
	e     *Terminal
	begun bool
}

func (e *Terminal) JSONList() *jsonList { return &jsonList{e: e} }

func (l *jsonList) Add(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	before := ",\n  "
	if !l.begun {
		before = "[\n  "
	}
	l.begun = true
	_, err := fmt.Fprint(l.e.Stdout, before+escapeInvisible(strings.TrimRight(b.String(), "\n")))
	return err
}

// End ends the list, which is whole also if an element before could not be read.
func (l *jsonList) End() error {
	text := "\n]\n"
	if !l.begun {
		text = "[]\n"
	}
	_, err := fmt.Fprint(l.e.Stdout, text)
	return err
}

// Answer prints v for a program, or calls print for people.
func (e *Terminal) Answer(v any, print func() error) error {
	if e.JSON {
		return e.PrintJSON(v)
	}
	return print()
}

// escapeInvisible writes what Printable would replace as a JSON escape. Such a
// character can only stand inside a JSON string, where the escape means the same.
func escapeInvisible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < 0x80 || media.Printable(string(r)) == string(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// Say prints one line, of which every argument is made printable. The commands in format
// read the same configuration; of those in arguments the caller sees to it, by remedy.
func (e *Terminal) Say(format string, args ...any) {
	if e.Named {
		format = strings.ReplaceAll(e.Remedy(strings.ReplaceAll(format, "%", "\x00")), "%", "%%") // of the path
		format = strings.ReplaceAll(format, "\x00", "%")
	}
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = media.Printable(s)
		}
	}
	fmt.Fprintf(e.Stdout, format+"\n", args...)
}

// table prints aligned columns; every cell is made printable.
type table struct {
	w       *tabwriter.Writer
	text    *bytes.Buffer // what w has aligned
	out     io.Writer
	Columns int // lines are cut to so many; 0: they are whole
}

// Table with a head is a list, whose lines are cut to the terminal. Without one it has
// sentences, such as remedies, which stay whole.
func (e *Terminal) Table(head ...string) table {
	var text bytes.Buffer
	t := table{w: tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0), text: &text, out: e.Stdout}
	if len(head) > 0 {
		if IsTerminal(e.screen()) {
			t.Columns, _ = e.ScreenSize()
		}
		t.Row(head...)
	}
	return t
}

func (t table) Row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, OrDash(media.Printable(cell)))
	}
	fmt.Fprintln(t.w)
}

func (t table) Flush() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(t.text.String()) {
		if line = strings.TrimSuffix(line, "\n"); t.Columns > 0 {
			line = Fit(line, t.Columns)
		}
		if _, err := fmt.Fprintln(t.out, line); err != nil {
			return err
		}
	}
	t.text.Reset()
	return nil
}

func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Ago returns how long ago t was; empty if t is zero.
func Ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return humanize.Time(t)
}

func ClockText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
