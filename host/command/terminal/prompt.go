package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// errNoAnswer means that the terminal gives no more answers.
var errNoAnswer = errors.New("no answer")

// Prompter asks the person at a terminal. All questions of a command share one, because its reader
// reads ahead. The zero value has no terminal.
type Prompter struct {
	In    *os.File // nil: there is no terminal, and nothing can be asked
	Lines *bufio.Reader
	Out   io.Writer
}

// Prompter returns a prompter that reads from stdin and writes to stderr; the zero value if stdin is
// no terminal.
func (e *Terminal) Prompter() Prompter {
	in, ok := e.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return Prompter{}
	}
	return Prompter{In: in, Lines: bufio.NewReader(in), Out: e.Stderr}
}

// Given returns the answer that a flag gave and empties the flag, or asks the question if the flag is
// empty. Without a terminal the answer may be empty.
func (p *Prompter) Given(ctx context.Context, flag *string, question string) (answer string, err error) {
	if answer, *flag = *flag, ""; answer != "" || p.In == nil {
		return answer, nil
	}
	return p.Ask(ctx, question)
}

// Secret is Ask with the terminal's echo turned off.
func (p *Prompter) Secret(ctx context.Context, question string) (string, error) {
	fd := int(p.In.Fd())
	shown, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		hidden := *shown
		hidden.Lflag = hidden.Lflag&^unix.ECHO | unix.ECHONL
		err = unix.IoctlSetTermios(fd, setTermios, &hidden)
	}
	if err != nil {
		return "", fmt.Errorf("%w: turn the terminal's echo off: %w", errNoAnswer, err)
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermios, shown) }() // a terminal that is gone shows nothing
	return p.Ask(ctx, question+" (it is not shown): ")
}

// Ask prints a question and returns the typed line without the space around it. When ctx is done, it
// returns at once; its goroutine reads on until the process ends, because a read of a terminal
// cannot be cancelled.
func (p *Prompter) Ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.Out, question)
	var line string
	read := make(chan error, 1)
	go func() {
		var err error
		line, err = p.Lines.ReadString('\n')
		read <- err
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.Out)
		return "", ctx.Err()
	case err := <-read:
		if err == nil || line != "" {
			return strings.TrimSpace(line), nil
		}
		fmt.Fprintln(p.Out)
		if errors.Is(err, io.EOF) {
			err = errors.New("the input has ended")
		}
		return "", Hinted(fmt.Errorf("%w: %w", errNoAnswer, err), "run the command again, or give the answers by its flags")
	}
}

// Final reports whether asking again cannot help after err: there is no terminal, its input has
// ended, or the person has interrupted the command.
func (p *Prompter) Final(ctx context.Context, err error) bool {
	return p.In == nil || ctx.Err() != nil || errors.Is(err, errNoAnswer)
}
