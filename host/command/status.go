package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

func newStatus(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "say what the host is doing",
		Args:  exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				s, err := c.Status(cmd.Context())
				if err != nil {
					return ofControl(err)
				}
				return e.answer(s, func() error { return e.printStatus(s) })
			})
		},
	}
}

func (e *env) printStatus(s operator.Status) error {
	if s.Running {
		up := time.Since(s.Started).Round(time.Second)
		e.say("the host runs as process %d since %s (%s), version %s", s.PID, clockText(s.Started), up.String(), s.Version)
		e.say("configuration applied at %s", clockText(s.Applied))
	} else {
		e.say("no host is running; to start it: %s", e.command("serve"))
	}
	e.say("state in %s, %s of %s free", s.State, media.Size(int64(s.Disk.Free)), media.Size(int64(s.Disk.Total)))
	e.printFaults(s)
	if err := e.printChannels(s); err != nil {
		return err
	}
	e.say("")
	t := e.table("GROUP", "NAME", "CHAT", "PENDING", "SIZE", "OLDEST", "NOT YET TAKEN")
	for _, g := range s.Groups {
		name := g.Name
		if g.Main {
			name += " (main)"
		}
		t.row(g.Folder, name, g.Chat, strconv.Itoa(g.Pending), media.Size(g.Bytes), ago(g.Oldest), strconv.Itoa(g.Waiting))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if approvals := approvalsOf(s); approvals > 0 {
		e.say("")
		e.say("waiting for an approval: %d; see: %s", approvals, e.command("approvals", "list"))
	}
	if err := e.printListeners(s.Groups); err != nil {
		return err
	}
	e.printTold(s.Told)
	if len(s.Assistants) > 0 {
		e.say("")
		t := e.table("ASSISTANT OF", "STATE", "SINCE", "CAUSE", "DETAIL")
		for _, a := range s.Assistants {
			t.row(a.Group, a.State, ago(a.Started), a.Cause, a.Detail)
		}
		if err := t.flush(); err != nil {
			return err
		}
	}
	return e.printFailures(s)
}

// printFaults prints what is wrong with the host, and what to do.
func (e *env) printFaults(s operator.Status) {
	for i, f := range s.Faults {
		if i == 0 {
			e.say("")
		}
		e.say("fault %s: %s", f.Name, e.remedy(media.Printable(f.Message)))
		if f.Hint != "" {
			e.say("  to do: %s", e.remedy(media.Printable(f.Hint)))
		}
	}
}

func (e *env) printChannels(s operator.Status) error {
	if len(s.Channels) == 0 {
		return nil
	}
	e.say("")
	return e.listChannels(s.Channels)
}

func (e *env) printFailures(s operator.Status) error {
	if len(s.Failures) == 0 && s.Errors == 0 {
		return nil
	}
	e.say("")
	if s.Errors > 0 {
		e.say("%s in the errors folder; see: longshore errors list", media.Count(s.Errors, "request"))
	}
	if len(s.Failures) == 0 {
		return nil
	}
	t := e.table("FAILED LATELY", "GROUP", "CODE", "SINCE", "MESSAGE")
	for _, f := range s.Failures {
		t.row(shortID(f), f.Group, f.Code, ago(f.Created), media.Cut(f.Message, 60))
	}
	if err := t.flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printListeners prints who answers in each group, and what was not for them.
func (e *env) printListeners(all []operator.Group) error {
	e.say("")
	t := e.table("GROUP", "ASSISTANT", "TRIGGER", "LAST TURN", "NOT CALLED", "NOT ALLOWED")
	for _, g := range all {
		who := g.Assistant
		if who == "" {
			who = "nobody answers"
		}
		t.row(g.Folder, who, g.Trigger, lastTurn(g.Turns), strconv.Itoa(g.NotCalled), strconv.Itoa(g.NotAllowed))
	}
	return t.flush()
}

// printTold prints on one line what members sent that could only be told in words.
func (e *env) printTold(all []operator.Told) {
	var words []string
	for _, t := range all {
		words = append(words, fmt.Sprintf("%s %s (%d)", t.Channel, t.Kind, t.Count))
	}
	if len(words) > 0 {
		e.say("")
		e.say("only told in words: %s", strings.Join(words[:min(len(words), 10)], ", "))
	}
}

// lastTurn is how a group's last turn ended, and when.
func lastTurn(t operator.Turns) string {
	if t.Broke.After(t.Done) {
		return "broke " + ago(t.Broke) + ": " + media.Cut(t.Trouble, 30)
	}
	return ago(t.Done)
}
