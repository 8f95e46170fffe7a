package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// EnterScreen switches to xterm's alternate screen and hides the cursor. LeaveScreen undoes both.
const (
	EnterScreen = "\x1b[?1049h\x1b[?25l"
	LeaveScreen = "\x1b[?25h\x1b[?1049l"
)

// screen returns the stdout of the process, also under --watch.
func (e *Terminal) screen() io.Writer {
	if e.Watched != nil {
		return e.Watched
	}
	return e.Stdout
}

// ScreenSize returns the terminal's size in characters; 80 by 24 if it is unknown.
func (e *Terminal) ScreenSize() (columns, rows int) {
	if f, ok := e.screen().(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return 80, 24
}

// FrameOf returns the bytes that draw at most rows lines over the former frame. It does not clear the
// screen first, which would flicker.
func FrameOf(lines []string, rows int) string {
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range lines[:min(len(lines), rows)] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + "\x1b[K")
	}
	b.WriteString("\x1b[J")
	return b.String()
}

// Fit cuts a line to so many columns. A line that is cut ends with "…".
func Fit(line string, columns int) string {
	if CutTo(line, columns) == line {
		return line
	}
	return CutTo(line, columns-1) + "…"
}

// CutTo cuts a line to so many columns of a terminal, in which a wide character takes two.
func CutTo(line string, columns int) string {
	used := 0
	for i, r := range line {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			used++
		}
		if used++; used > columns {
			return line[:i]
		}
	}
	return line
}

// Redraw draws lines on the terminal until ctx is done, which is no error. It then switches back to
// the former screen.
func (e *Terminal) Redraw(ctx context.Context, every time.Duration, lines func(columns, rows int) []string) error {
	fmt.Fprint(e.Stdout, EnterScreen)
	defer fmt.Fprint(e.Stdout, LeaveScreen)
	for {
		columns, rows := e.ScreenSize()
		all := lines(columns, rows)
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprint(e.Stdout, FrameOf(all, rows))
		if !wake.Sleep(ctx, every) {
			return nil
		}
	}
}

// Screenful wraps a title and a text to so many columns. If they have more lines than rows, the last
// line says how many more.
func Screenful(title, text string, columns, rows int) []string {
	lines := []string{CutTo(media.Printable(title), columns), ""}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		for {
			head := CutTo(line, columns)
			lines = append(lines, head)
			if line = line[len(head):]; line == "" || head == "" {
				break
			}
		}
	}
	if more := len(lines) - rows; more > 0 && rows > 0 {
		lines = append(lines[:rows-1], CutTo(fmt.Sprintf("and %d more lines: make the window larger, or leave out --watch", more+1), columns))
	}
	return lines
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
