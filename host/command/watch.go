package command

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// watchEvery is how often --watch runs a command.
const watchEvery = 2 * time.Second

// watchable adds --watch to all commands called list, and to three more.
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

// watcher runs a command repeatedly. The command prints into memory, so that a terminal never shows
// half of an answer.
type watcher struct {
	env   *env
	title string
	plain *cobra.Command // as it runs without --watch
	cmd   *cobra.Command
	args  []string
}

// watch runs until ctx is done, which is no error. If the first run of the command fails, so does
// watch; a later error is shown, because the host may come back.
func (w *watcher) watch(ctx context.Context, every time.Duration) error {
	answer, err := w.once()
	if err != nil {
		fmt.Fprint(w.env.Stderr, answer)
		return err
	}
	if terminal.IsTerminal(w.env.Stdout) && !w.env.JSON {
		return w.env.Redraw(ctx, every, func(columns, rows int) []string {
			if answer == "" {
				answer, err = w.once()
			}
			text := answer + w.trouble(err)
			answer = ""
			return terminal.Screenful(w.title+", "+terminal.ClockText(time.Now()), text, columns, rows)
		})
	}
	for {
		if _, failed := fmt.Fprint(w.env.Stdout, answer); failed != nil {
			return fmt.Errorf("print: %w", failed)
		}
		if err != nil {
			fmt.Fprint(w.env.Stderr, w.trouble(err))
		}
		if !wake.Sleep(ctx, every) {
			return nil
		}
		if answer, err = w.once(); ctx.Err() != nil {
			return nil
		}
		if !w.env.JSON && answer != "" {
			answer = "\n" + answer
		}
	}
}

// once runs the command and returns what it printed.
func (w *watcher) once() (string, error) {
	var out bytes.Buffer
	e := w.env
	stdout, stderr := e.Stdout, e.Stderr
	e.Watched, e.Stdout = stdout, &out
	if !e.JSON { // in JSON, only answers are lines
		e.Stderr = &out
	}
	defer func() { e.Watched, e.Stdout, e.Stderr = nil, stdout, stderr }()
	err := w.plain.RunE(w.cmd, w.args)
	return out.String(), err
}

// trouble returns the text of an error with its hint; empty if there is none.
func (w *watcher) trouble(err error) string {
	if err == nil {
		return ""
	}
	var words bytes.Buffer
	e := *w.env
	e.Stderr = &words
	e.fail(err)
	return words.String()
}
