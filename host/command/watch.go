package command

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/media"
)

// watchEvery is how often --watch runs a command.
const watchEvery = 2 * time.Second

// watchable adds --watch to every list: all commands called list, and these.
func (e *env) watchable(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		for _, one := range append(cmd.Commands(), cmd) {
			switch path := strings.TrimPrefix(one.CommandPath(), root.Name()+" "); {
			case one.Name() == "list", path == "status", path == "audit search", path == "groups requests":
				e.addWatch(one)
			}
		}
	}
}

func (e *env) addWatch(cmd *cobra.Command) {
	plain := *cmd
	watch := cmd.Flags().BoolP("watch", "w", false, "go on: show it anew every 2 seconds, or with --json print it as a line each time")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*watch {
			return plain.RunE(cmd, args)
		}
		w := &watcher{env: e, title: cmd.CommandPath(), plain: &plain, cmd: cmd, args: args}
		return w.watch(cmd.Context(), watchEvery)
	}
}

// watcher runs a command again and again. The command prints into memory, so that a
// terminal never shows half of an answer.
type watcher struct {
	env   *env
	title string
	plain *cobra.Command // as it runs without --watch
	cmd   *cobra.Command
	args  []string
}

// watch runs until ctx is done, which is no error. The command's first error ends it; a
// later one is shown, and the host may come back.
func (w *watcher) watch(ctx context.Context, every time.Duration) error {
	answer, err := w.once()
	if err != nil {
		fmt.Fprint(w.env.stderr, answer)
		return err
	}
	if isTerminal(w.env.stdout) && !w.env.json {
		return w.env.redraw(ctx, every, func(columns, rows int) []string {
			if answer == "" {
				answer, err = w.once()
			}
			text := answer + w.trouble(err)
			answer = ""
			return screenful(w.title+", "+clockText(time.Now()), text, columns, rows)
		})
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if _, failed := fmt.Fprint(w.env.stdout, answer); failed != nil {
			return fmt.Errorf("print: %w", failed) // nobody reads on
		}
		if err != nil {
			fmt.Fprint(w.env.stderr, w.trouble(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if answer, err = w.once(); ctx.Err() != nil {
			return nil
		}
		if !w.env.json && answer != "" {
			answer = "\n" + answer
		}
	}
}

// once runs the command and returns what it printed.
func (w *watcher) once() (string, error) {
	var out bytes.Buffer
	e := w.env
	stdout, stderr := e.stdout, e.stderr
	e.watched, e.stdout = stdout, &out
	if !e.json { // of which only answers are lines
		e.stderr = &out
	}
	defer func() { e.watched, e.stdout, e.stderr = nil, stdout, stderr }()
	err := w.plain.RunE(w.cmd, w.args)
	return out.String(), err
}

// trouble is an error in words; empty if there is none.
func (w *watcher) trouble(err error) string {
	if err == nil {
		return ""
	}
	var words bytes.Buffer
	e := *w.env
	e.stderr = &words
	e.fail(err)
	return words.String()
}

// redraw draws on the terminal until ctx is done, which is no error. Between two lines it
// never waits, so that an interrupt finds the terminal in a state that leaveScreen ends.
func (e *env) redraw(ctx context.Context, every time.Duration, lines func(columns, rows int) []string) error {
	fmt.Fprint(e.stdout, enterScreen)
	defer fmt.Fprint(e.stdout, leaveScreen)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		columns, rows := e.screenSize()
		all := lines(columns, rows)
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprint(e.stdout, frameOf(all, rows))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// screenful is a title and a text as lines of a terminal. What has no place is counted.
func screenful(title, text string, columns, rows int) []string {
	lines := []string{cutTo(media.Printable(title), columns), ""}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		for {
			head := cutTo(line, columns)
			lines = append(lines, head)
			if line = line[len(head):]; line == "" || head == "" {
				break
			}
		}
	}
	if more := len(lines) - rows; more > 0 && rows > 0 {
		lines = append(lines[:rows-1], cutTo(fmt.Sprintf("and %d more lines: make the window larger, or leave out --watch", more+1), columns))
	}
	return lines
}
