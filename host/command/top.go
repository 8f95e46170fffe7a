package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/media"
)

func newTop(e *env) *cobra.Command {
	var once bool
	every := 2 * time.Second
	cmd := &cobra.Command{
		Use:   "top",
		Short: "show what the host does, and go on showing it",
		Long: `top shows channels, groups with their assistants, the queue with its progress,
failures and tasks, and draws them anew until it is interrupted. If stdout is no
terminal, it prints them once.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return terminal.Usage("--every is less than 100ms", "ask at most ten times a second")
			}
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				if once || e.JSON || !terminal.IsTerminal(e.Stdout) {
					return e.topOnce(cmd.Context(), c)
				}
				return e.topLive(cmd.Context(), c, every)
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print it once")
	cmd.Flags().DurationVar(&every, "every", every, "how `often` it is drawn anew")
	return cmd
}

func (e *env) topOnce(ctx context.Context, c operator.Control) error {
	o, err := operator.Look(ctx, c)
	if err != nil {
		return ofControl(err)
	}
	return e.Answer(o, func() error {
		columns, _ := e.ScreenSize()
		for _, line := range e.topLines(o, columns) {
			fmt.Fprintln(e.Stdout, line)
		}
		return nil
	})
}

// topLive draws until ctx is done, which is no error.
func (e *env) topLive(ctx context.Context, c operator.Control, every time.Duration) error {
	return e.Redraw(ctx, every, func(columns, _ int) []string {
		o, err := operator.Look(ctx, c)
		if err != nil {
			return []string{terminal.CutTo("the host does not answer: "+media.Printable(err.Error()), columns)}
		}
		return e.topLines(o, columns)
	})
}

// topLines returns an overview as printable lines of at most so many columns.
func (e *env) topLines(o operator.Overview, columns int) []string {
	var b bytes.Buffer
	e = &env{Terminal: terminal.Terminal{Stdout: &b, Config: e.Config, Named: e.Named, Verbs: e.Verbs}}
	s := o.Status
	head := "no host is running"
	if s.Running {
		head = fmt.Sprintf("longshore %s, up %s", s.Version, o.Time.Sub(s.Started).Round(time.Second))
	}
	e.Say("%s, %s", head, terminal.ClockText(o.Time))
	waiting := 0
	for _, g := range s.Groups {
		waiting += g.Waiting
	}
	e.Say("disk %s of %s free, %d not yet taken, queue %d, errors %d",
		media.Size(int64(s.Disk.Free)), media.Size(int64(s.Disk.Total)), waiting, pendingOf(s), s.Errors)
	if n := approvalsOf(s); n > 0 {
		e.Say("waiting for an approval: %d; see: longshore approvals list", n)
	}
	if n := len(o.Requests); n > 0 {
		e.Say("direct chats that wait for you: %d; see: longshore groups requests", n)
	}
	e.printWrong(s)
	_ = e.printChannels(s) // writing to a buffer does not fail
	for _, print := range []func(*env, operator.Overview) error{topGroups, topQueue, topFailed, topTasks} {
		_ = print(e, o)
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = terminal.Fit(strings.TrimRight(line, " "), columns)
	}
	return lines
}

func pendingOf(s operator.Status) (n int) {
	for _, g := range s.Groups {
		n += g.Pending
	}
	return n
}

func approvalsOf(s operator.Status) (n int) {
	for _, g := range s.Groups {
		n += g.Approvals
	}
	return n
}

// topGroups prints the busiest groups first: a screen may not have room for all.
func topGroups(e *env, o operator.Overview) error {
	state := map[string]operator.Assistant{}
	for _, a := range o.Status.Assistants {
		state[a.Group] = a
	}
	all := slices.Clone(o.Status.Groups)
	busy := func(g operator.Group) int {
		return g.Pending + g.Waiting + len(state[g.Folder].State)
	}
	slices.SortStableFunc(all, func(a, b operator.Group) int { return cmp.Compare(busy(b), busy(a)) })
	e.Say("")
	return terminal.List(&e.Terminal, "", []string{"GROUP", "STATE", "WAIT", "QUEUE", "SIZE", "NOT CALLED", "CAUSE"}, all, func(g operator.Group) []string {
		a := state[g.Folder]
		what := cmp.Or(a.State, "idle")
		if g.Assistant == "" {
			what = "nobody answers"
		}
		return []string{media.Cut(g.Folder, 20), what, strconv.Itoa(g.Waiting), strconv.Itoa(g.Pending), media.Size(g.Bytes), strconv.Itoa(g.NotCalled), cmp.Or(a.Cause, a.Detail)}
	})
}

func topQueue(e *env, o operator.Overview) error {
	return terminal.Section(&e.Terminal, []string{"QUEUE", "GROUP", "STATE", "DONE", "SIZE", "TRIES", "LAST TRY MET"}, o.Queue, func(i operator.Item) []string {
		done := ""
		if i.Bytes > 0 {
			done = strconv.FormatInt(100*i.Done/i.Bytes, 10) + " %"
		}
		return []string{shortID(i), media.Cut(i.Group, 20), i.State, done, media.Size(i.Bytes), strconv.Itoa(i.Attempts), i.Message}
	})
}

func topFailed(e *env, o operator.Overview) error {
	newest := slices.Clone(o.Failed[max(0, len(o.Failed)-operator.RecentFailures):])
	slices.Reverse(newest)
	return terminal.Section(&e.Terminal, []string{"FAILED", "GROUP", "CODE", "SINCE", "MESSAGE"}, newest, func(i operator.Item) []string {
		return []string{media.Cut(shortID(i), 24), media.Cut(i.Group, 20), i.Code, terminal.Ago(i.Created), i.Message}
	})
}

func topTasks(e *env, o operator.Overview) error {
	return terminal.Section(&e.Terminal, []string{"TASK", "GROUP", "SCHEDULE", "STATUS", "NEXT"}, o.Tasks, func(t tasks.Task) []string {
		return []string{t.ID, media.Cut(t.Folder, 20), t.Words, t.Status, terminal.ClockText(t.Next)}
	})
}
