package terminal

import (
	"bytes"
	"cmp"
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

// jsonList prints a list as PrintJSON does, one element at a time.
type jsonList struct {
	e     *Terminal
	begun bool
}

// JSONList begins a list for programs that is too long to hold in memory.
func (e *Terminal) JSONList() *jsonList { return &jsonList{e: e} }

// Add prints the next element.
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

// End closes the list. Call it even after an error, so that the JSON is whole.
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

// Done prints v for a program, or one line for people, as Say does.
func (e *Terminal) Done(v any, format string, args ...any) error {
	return e.Answer(v, func() error { e.Say(format, args...); return nil })
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

// Say prints one line and makes every string argument printable. Commands in format get -c as Remedy
// does it; the caller calls Remedy for those in arguments.
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

// Table returns a table. With a head, its lines are cut to the terminal's width; without one, it
// holds sentences such as remedies, which stay whole.
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

// Row adds a line. An empty cell becomes a dash.
func (t table) Row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, OrDash(media.Printable(cell)))
	}
	fmt.Fprintln(t.w)
}

// Flush aligns the lines and prints them.
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

// List prints a table with a row for each element, or the line none if there are no elements.
func List[T any](e *Terminal, none string, head []string, all []T, row func(T) []string) error {
	if len(all) == 0 && none != "" {
		e.Say("%s", none)
		return nil
	}
	t := e.Table(head...)
	for _, one := range all {
		t.Row(row(one)...)
	}
	return t.Flush()
}

// Section is List after an empty line. It prints nothing if there are no elements.
func Section[T any](e *Terminal, head []string, all []T, row func(T) []string) error {
	if len(all) == 0 {
		return nil
	}
	e.Say("")
	return List(e, "", head, all, row)
}

// OrDash returns a dash for an empty text.
func OrDash(s string) string { return cmp.Or(s, "-") }

// Ago returns how long ago t was; empty if t is zero.
func Ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return humanize.Time(t)
}

// ClockText returns a time by this machine's clock and time zone; empty if t is zero.
func ClockText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
