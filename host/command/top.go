package command

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/longshore-bridge/longshore/host/operator"
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
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return usage("--every is less than 100ms", "ask at most ten times a second")
			}
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				if once || e.json || !isTerminal(e.stdout) {
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
	return e.answer(o, func() error {
		columns, _ := e.screenSize()
		for _, line := range e.topLines(o, columns) {
			fmt.Fprintln(e.stdout, line)
		}
		return nil
	})
}

// What a terminal is told: another screen without a cursor, and the first one again.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// topLive draws until ctx is done, which is no error.
func (e *env) topLive(ctx context.Context, c operator.Control, every time.Duration) error {
	return e.redraw(ctx, every, func(columns, _ int) []string {
		o, err := operator.Look(ctx, c)
		if err != nil {
			return []string{cutTo("the host does not answer: "+media.Printable(err.Error()), columns)}
		}
		return e.topLines(o, columns)
	})
}

// screen is where what is printed becomes visible.
func (e *env) screen() io.Writer {
	if e.watched != nil {
		return e.watched
	}
	return e.stdout
}

// screenSize is 80 by 24 of what is no terminal, or a terminal that does not say.
func (e *env) screenSize() (columns, rows int) {
	if f, ok := e.screen().(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			return columns, rows
		}
	}
	return 80, 24
}

// frameOf draws over the frame before without clearing it first, which would flicker.
func frameOf(lines []string, rows int) string {
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

// topLines is an Overview as lines of at most so many columns. All text is printable.
func (e *env) topLines(o operator.Overview, columns int) []string {
	var b bytes.Buffer
	e = &env{stdout: &b, config: e.config, named: e.named, verbs: e.verbs}
	s := o.Status
	head := "no host is running"
	if s.Running {
		head = fmt.Sprintf("longshore %s, up %s", s.Version, o.Time.Sub(s.Started).Round(time.Second))
	}
	e.say("%s, %s", head, clockText(o.Time))
	waiting := 0
	for _, g := range s.Groups {
		waiting += g.Waiting
	}
	e.say("disk %s of %s free, %d not yet taken, queue %d, errors %d",
		media.Size(int64(s.Disk.Free)), media.Size(int64(s.Disk.Total)), waiting, pendingOf(s), s.Errors)
	if n := approvalsOf(s); n > 0 {
		e.say("waiting for an approval: %d; see: longshore approvals list", n)
	}
	if n := len(o.Requests); n > 0 {
		e.say("direct chats that wait for you: %d; see: longshore groups requests", n)
	}
	e.printFaults(s)
	for _, print := range []func(*env, operator.Overview) error{topChannels, topGroups, topQueue, topFailed, topTasks} {
		_ = print(e, o) // a buffer takes everything
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = fit(strings.TrimRight(line, " "), columns)
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

func topChannels(e *env, o operator.Overview) error { return e.printChannels(o.Status) }

// The busiest groups come first: a screen may not have room for all.
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
	e.say("")
	t := e.table("GROUP", "STATE", "WAIT", "QUEUE", "SIZE", "NOT CALLED", "CAUSE")
	for _, g := range all {
		a := state[g.Folder]
		what := cmp.Or(a.State, "idle")
		if g.Assistant == "" {
			what = "nobody answers"
		}
		t.row(media.Cut(g.Folder, 20), what, strconv.Itoa(g.Waiting), strconv.Itoa(g.Pending), media.Size(g.Bytes), strconv.Itoa(g.NotCalled), cmp.Or(a.Cause, a.Detail))
	}
	return t.flush()
}

func topQueue(e *env, o operator.Overview) error {
	if len(o.Queue) == 0 {
		return nil
	}
	e.say("")
	t := e.table("QUEUE", "GROUP", "STATE", "DONE", "SIZE", "TRIES", "LAST TRY MET")
	for _, i := range o.Queue {
		done := ""
		if i.Bytes > 0 {
			done = strconv.FormatInt(100*i.Done/i.Bytes, 10) + " %"
		}
		t.row(shortID(i), media.Cut(i.Group, 20), i.State, done, media.Size(i.Bytes), strconv.Itoa(i.Attempts), i.Message)
	}
	return t.flush()
}

func topFailed(e *env, o operator.Overview) error {
	if len(o.Failed) == 0 {
		return nil
	}
	e.say("")
	t := e.table("FAILED", "GROUP", "CODE", "SINCE", "MESSAGE")
	for _, i := range slices.Backward(o.Failed[max(0, len(o.Failed)-operator.RecentFailures):]) {
		t.row(media.Cut(shortID(i), 24), media.Cut(i.Group, 20), i.Code, ago(i.Created), i.Message)
	}
	return t.flush()
}

func topTasks(e *env, o operator.Overview) error {
	if len(o.Tasks) == 0 {
		return nil
	}
	e.say("")
	t := e.table("TASK", "GROUP", "SCHEDULE", "STATUS", "NEXT")
	for _, task := range o.Tasks {
		t.row(task.ID, media.Cut(task.Folder, 20), task.Words, task.Status, clockText(task.Next))
	}
	return t.flush()
}

// fit cuts a line that is longer than so many columns, and marks that it was cut.
func fit(line string, columns int) string {
	if cutTo(line, columns) == line {
		return line
	}
	return cutTo(line, columns-1) + "…"
}

// cutTo cuts a line to so many columns of a terminal, in which a wide character takes two.
func cutTo(line string, columns int) string {
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
