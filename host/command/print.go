package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf16"

	"github.com/dustin/go-humanize"

	"github.com/longshore-bridge/longshore/media"
)

// printJSON prints v for a program. encoding/json escapes the control
// characters; the bidi controls, which a terminal would obey, are escaped here.
func (e *env) printJSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err := fmt.Fprint(e.stdout, escapeInvisible(b.String()))
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

// say prints one line, of which every argument is made printable.
func (e *env) say(format string, args ...any) {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = media.Printable(s)
		}
	}
	fmt.Fprintf(e.stdout, format+"\n", args...)
}

// table prints aligned columns; every cell is made printable.
type table struct{ w *tabwriter.Writer }

func (e *env) table(head ...string) table {
	t := table{tabwriter.NewWriter(e.stdout, 0, 8, 2, ' ', 0)}
	if len(head) > 0 {
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

func (t table) flush() error { return t.w.Flush() }

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
