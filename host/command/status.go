package command

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/media"
)

func newStatus(e *env) *cobra.Command {
	return terminal.Verb("status", "say what the host is doing", func(cmd *cobra.Command, _ []string) error {
		return ask(e, cmd, operator.Control.Status, e.printStatus)
	})
}

func (e *env) printStatus(s operator.Status) error {
	if s.Running {
		up := time.Since(s.Started).Round(time.Second)
		e.Say("the host runs as process %d since %s (%s), version %s", s.PID, terminal.ClockText(s.Started), up.String(), s.Version)
		if !s.Applied.IsZero() {
			e.Say("configuration applied at %s", terminal.ClockText(s.Applied))
		}
		e.printCluster(s.Cluster)
	} else {
		words := "no host is running"
		if faults(s.Findings) == 0 {
			words += "; to start it: " + e.Command("serve")
		}
		e.Say("%s", words)
	}
	e.Say("state in %s, %s of %s free", s.State, media.Size(int64(s.Disk.Free)), media.Size(int64(s.Disk.Total)))
	if !s.Backup.IsZero() {
		e.Say("backup of the state at %s", terminal.ClockText(s.Backup))
	}
	e.printWrong(s)
	if err := e.printChannels(s); err != nil {
		return err
	}
	e.Say("")
	head := []string{"GROUP", "NAME", "CHAT", "PENDING", "SIZE", "OLDEST", "NOT YET TAKEN"}
	err := terminal.List(&e.Terminal, "", head, s.Groups, func(g operator.Group) []string {
		name := g.Name
		if g.Main {
			name += " (main)"
		}
		return []string{g.Folder, name, g.Chat, strconv.Itoa(g.Pending), media.Size(g.Bytes), terminal.Ago(g.Oldest), strconv.Itoa(g.Waiting)}
	})
	if err != nil {
		return err
	}
	if approvals := approvalsOf(s); approvals > 0 {
		e.Say("")
		e.Say("waiting for an approval: %d; see: %s", approvals, e.Command("approvals", "list"))
	}
	if err := e.printListeners(s.Groups); err != nil {
		return err
	}
	e.printTold(s.Told)
	err = terminal.Section(&e.Terminal, []string{"ASSISTANT OF", "STATE", "SINCE", "CAUSE", "DETAIL"}, s.Assistants, func(a operator.Assistant) []string {
		return []string{a.Group, a.State, terminal.Ago(a.Started), a.Cause, a.Detail}
	})
	if err != nil {
		return err
	}
	return e.printFailures(s)
}

// printCluster prints the host's place in its cluster.
func (e *env) printCluster(v *cluster.View) {
	switch {
	case v == nil:
		return
	case v.Owned && v.Owner == v.Host:
		e.Say("host %s owns cluster %s since %s, fence %d", v.Host, v.Cluster, terminal.ClockText(v.Since), v.Fence)
	case v.Owned:
		e.Say("host %s stands by in cluster %s: %s owns since %s, fence %d, last seen %.1f s ago", v.Host, v.Cluster, v.Owner, terminal.ClockText(v.Since), v.Fence, v.Lag)
	case v.Cluster == "":
		e.Say("host %s has not read yet who owns. %s", v.Host, v.Reason)
	default:
		e.Say("host %s stands by in cluster %s, and nobody owns: %s", v.Host, v.Cluster, cmp.Or(v.Reason, "it is about to take over"))
	}
	for _, m := range v.Hosts {
		if m.Name != v.Host {
			e.Say("host %s was last seen %.1f s ago, version %s, %s", m.Name, m.Ago, m.Program, sameText(m))
		}
	}
}

func sameText(m cluster.Member) string {
	if m.Same {
		return "the owner's configuration"
	}
	return "another configuration than the owner's"
}

// printWrong prints what an operator has to know, and what to do about it.
func (e *env) printWrong(s operator.Status) {
	for i, f := range s.Findings {
		if i == 0 {
			e.Say("")
		}
		e.Say("%s %s: %s", f.Severity, f.Name, e.Remedy(media.Printable(f.Cause)))
		e.Say("  to do: %s", e.Remedy(media.Printable(f.Remedy)))
	}
}

func (e *env) printChannels(s operator.Status) error {
	if len(s.Channels) == 0 {
		return nil
	}
	e.Say("")
	return e.listChannels(s.Channels)
}

func (e *env) printFailures(s operator.Status) error {
	if len(s.Failures) == 0 && s.Errors == 0 {
		return nil
	}
	e.Say("")
	if s.Errors > 0 {
		e.Say("%s in the errors folder; see: longshore errors list", media.Count(s.Errors, "request"))
	}
	if len(s.Failures) == 0 {
		return nil
	}
	return terminal.List(&e.Terminal, "", []string{"FAILED LATELY", "GROUP", "CODE", "SINCE", "MESSAGE"}, s.Failures, func(f operator.Item) []string {
		return []string{shortID(f), f.Group, f.Code, terminal.Ago(f.Created), media.Cut(f.Message, 60)}
	})
}

// printListeners prints each group's assistant, and how many messages were not for it.
func (e *env) printListeners(all []operator.Group) error {
	e.Say("")
	head := []string{"GROUP", "ASSISTANT", "TRIGGER", "LAST TURN", "NOT CALLED", "NOT ALLOWED"}
	return terminal.List(&e.Terminal, "", head, all, func(g operator.Group) []string {
		return []string{g.Folder, cmp.Or(g.Assistant, "nobody answers"), g.Trigger, lastTurn(g.Turns), strconv.Itoa(g.NotCalled), strconv.Itoa(g.NotAllowed)}
	})
}

// printTold prints on one line the kinds of messages that assistants only read described in words.
func (e *env) printTold(all []turns.Told) {
	var words []string
	for _, t := range all {
		words = append(words, fmt.Sprintf("%s %s (%d)", t.Channel, t.Kind, t.Count))
	}
	if len(words) > 0 {
		e.Say("")
		e.Say("only told in words: %s", strings.Join(words[:min(len(words), 10)], ", "))
	}
}

// lastTurn says how a group's last turn ended, and when.
func lastTurn(t turns.Turns) string {
	if t.Broke.After(t.Done) {
		return "broke " + terminal.Ago(t.Broke) + ": " + media.Cut(t.Trouble, 30)
	}
	return terminal.Ago(t.Done)
}
