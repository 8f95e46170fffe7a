package command

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

// printJSON prints v for a program, under --watch as one line. encoding/json escapes the control
// characters; the bidi controls, which a terminal would obey, are escaped here.
func (e *env) printJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if e.watched == nil {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err := fmt.Fprint(e.stdout, escapeInvisible(b.String()))
	return err
}

// jsonList prints a list as printJSON does, one element at a time.
type jsonList struct {
	e     *env
	begun bool
}

func (e *env) newJSONList() *jsonList { return &jsonList{e: e} }

func (l *jsonList) add(v any) error {
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
	_, err := fmt.Fprint(l.e.stdout, before+escapeInvisible(strings.TrimRight(b.String(), "\n")))
	return err
}

// end ends the list, which is whole also if an element before could not be read.
func (l *jsonList) end() error {
	text := "\n]\n"
	if !l.begun {
		text = "[]\n"
	}
	_, err := fmt.Fprint(l.e.stdout, text)
	return err
}

// answer prints v for a program, or calls print for people.
func (e *env) answer(v any, print func() error) error {
	if e.json {
		return e.printJSON(v)
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

// say prints one line, of which every argument is made printable. The commands in format
// read the same configuration; of those in arguments the caller sees to it, by remedy.
func (e *env) say(format string, args ...any) {
	if e.named {
		format = strings.ReplaceAll(e.remedy(strings.ReplaceAll(format, "%", "\x00")), "%", "%%") // of the path
		format = strings.ReplaceAll(format, "\x00", "%")
	}
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = media.Printable(s)
		}
	}
	fmt.Fprintf(e.stdout, format+"\n", args...)
}

// table prints aligned columns; every cell is made printable.
type table struct {
	w       *tabwriter.Writer
	text    *bytes.Buffer // what w has aligned
	out     io.Writer
	columns int // lines are cut to so many; 0: they are whole
}

// table with a head is a list, whose lines are cut to the terminal. Without one it has
// sentences, such as remedies, which stay whole.
func (e *env) table(head ...string) table {
	var text bytes.Buffer
	t := table{w: tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0), text: &text, out: e.stdout}
	if len(head) > 0 {
		if isTerminal(e.screen()) {
			t.columns, _ = e.screenSize()
		}
		t.row(head...)
	}
	return t
}

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, orDash(media.Printable(cell)))
	}
	fmt.Fprintln(t.w)
}

func (t table) flush() error {
	if err := t.w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(t.text.String()) {
		if line = strings.TrimSuffix(line, "\n"); t.columns > 0 {
			line = fit(line, t.columns)
		}
		if _, err := fmt.Fprintln(t.out, line); err != nil {
			return err
		}
	}
	t.text.Reset()
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ago says how long ago t was; nothing where it never was.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return humanize.Time(t)
}

func clockText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
