package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/media"
)

func newQueue(e *env) *cobra.Command {
	f := &operator.Filter{}
	list := newList(e, "list the deliveries that are open", f, e.listQueue)
	list.Flags().BoolVarP(&f.All, "all", "a", false, "settled deliveries too")
	return terminal.Family("queue", "look at what is accepted and not sent yet, and act on it",
		list, newShow(e, "one delivery with its parts"),
		newAct(e, "retry", "queue a failed delivery again", "queued again", operator.Control.Retry),
		newAct(e, "drop", "give a delivery up; what was not sent yet is not sent", "dropped", operator.Control.Drop))
}

func newErrors(e *env) *cobra.Command {
	f := &operator.Filter{Failed: true}
	list := newList(e, "list failed deliveries, the requests in the errors folder, and turns that broke", f, func(items []operator.Item) error {
		return e.listErrors(items, e.brokenTurns(f.Group))
	})
	return terminal.Family("errors", "look at what was refused or failed, and act on it",
		list, newShow(e, "one error with all that is known of it"),
		newAct(e, "retry", "queue a failed delivery again, or put a request back into its queue", "queued again", operator.Control.Retry),
		newAct(e, "drop", "take a failed delivery off the list, or remove a request for good", "dropped", operator.Control.Drop))
}

// newList is a command that lists the items that match f; print is for people.
func newList(e *env, short string, f *operator.Filter, print func([]operator.Item) error) *cobra.Command {
	list := newGroupList(e, short, func(c operator.Control, ctx context.Context, folder string) ([]operator.Item, error) {
		f.Group = folder
		return c.List(ctx, *f)
	}, print)
	list.Flags().IntVarP(&f.Limit, "limit", "n", 0, "the newest `N` only (1000)")
	return list
}

// newGroupList is a command that lists what call returns for all groups, or for the group that a flag
// names; print is for people.
func newGroupList[Out any](e *env, short string, call func(operator.Control, context.Context, string) ([]Out, error), print func([]Out) error) *cobra.Command {
	var group string
	list := terminal.Verb("list", short, func(cmd *cobra.Command, _ []string) error {
		if err := e.folderOf(&group); err != nil {
			return err
		}
		return askFor(e, cmd, call, group, print)
	})
	list.Flags().StringVarP(&group, "group", "g", "", "only this group's; its `folder`, name or chat")
	return list
}

func newShow(e *env, short string) *cobra.Command {
	return terminal.Verb("show ID", "show "+short, func(cmd *cobra.Command, args []string) error {
		return askFor(e, cmd, operator.Control.Show, args[0], e.printItem)
	})
}

// newAct is a command that applies act to each of the named items, and ends at the first error.
func newAct(e *env, verb, short, done string, act func(operator.Control, context.Context, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " ID…",
		Short: short,
		Args:  atLeastOne,
		RunE: func(cmd *cobra.Command, ids []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				for _, id := range ids {
					if err := act(c, cmd.Context(), id); err != nil {
						return err
					}
					if !e.JSON {
						e.Say("%s: %s", id, done)
					}
				}
				if e.JSON {
					return e.PrintJSON(map[string][]string{verb: ids})
				}
				return nil
			})
		},
	}
}

func atLeastOne(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return terminal.Usage("no id given", "the first column of \"longshore "+cmd.Parent().Name()+" list\" has them")
	}
	return nil
}

func (e *env) listQueue(items []operator.Item) error {
	head := []string{"ID", "GROUP", "CHAT", "STATE", "FILES", "SIZE", "TRIES", "SINCE", "LAST TRY MET"}
	return terminal.List(&e.Terminal, "nothing is waiting", head, items, func(i operator.Item) []string {
		return []string{shortID(i), i.Group, i.Chat, i.State, strconv.Itoa(i.Files), media.Size(i.Bytes), strconv.Itoa(i.Attempts), terminal.Ago(i.Created), media.Cut(i.Message, 60)}
	})
}

// brokenTurns returns the groups of the running host whose last turn broke, or of them the one with
// the folder. Without a host there are none.
func (e *env) brokenTurns(folder string) (broken []operator.Group) {
	c, err := e.load()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := operator.NewClient(operator.ControlDir(c.Layout())).Status(ctx)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(s.Groups, func(g operator.Group) bool {
		return !g.Broke.After(g.Done) || folder != "" && g.Folder != folder
	})
}

func (e *env) listErrors(items []operator.Item, broken []operator.Group) error {
	if len(items) == 0 && len(broken) == 0 {
		e.Say("no errors")
		return nil
	}
	for _, g := range broken {
		e.Say("the last turn of %s broke %s: %s", g.Folder, terminal.Ago(g.Broke), media.Printable(g.Trouble))
		e.Say("  to do: %s", e.Command("why", g.Folder))
	}
	if len(items) == 0 {
		return nil
	}
	if len(broken) > 0 {
		e.Say("")
	}
	err := terminal.List(&e.Terminal, "", []string{"ID", "WHAT", "GROUP", "STATE", "CODE", "SINCE"}, items, func(i operator.Item) []string {
		return []string{shortID(i), string(i.Kind), i.Group, i.State, i.Code, terminal.Ago(i.Created)}
	})
	if err != nil {
		return err
	}
	e.Say("")
	for _, i := range items {
		e.Say("%s: %s", shortID(i), i.Message)
		if i.Hint != "" {
			e.Say("  to do: %s", e.Remedy(i.Hint))
		}
	}
	return nil
}

// printItem prints an item with its steps, its parts and its request.
func (e *env) printItem(i operator.Item) error {
	t := e.Table()
	t.Row("id", i.ID)
	t.Row("what", string(i.Kind))
	t.Row("group", i.Group)
	t.Row("request", i.Request)
	if i.Kind == operator.Delivery {
		t.Row("chat", i.Chat+" by "+i.Channel)
	}
	t.Row("state", i.State)
	t.Row("since", terminal.ClockText(i.Created))
	t.Row("attempts", strconv.Itoa(i.Attempts))
	if i.Next != nil {
		t.Row("next try", terminal.ClockText(*i.Next))
	}
	if i.Code != "" {
		t.Row("code", i.Code)
		t.Row("message", i.Message)
		t.Row("to do", e.Remedy(i.Hint))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if err := e.printTimeline(i.Timeline); err != nil {
		return err
	}
	for n, p := range i.Parts {
		if err := e.printPart(n, p); err != nil {
			return err
		}
	}
	if i.Raw != "" {
		e.Say("")
		e.Say("the request:")
		for line := range strings.Lines(i.Raw) {
			e.Say("  %s", strings.TrimRight(line, "\r\n"))
		}
	}
	return nil
}

func (e *env) printTimeline(steps []operator.Event) error {
	return terminal.Section(&e.Terminal, []string{"STEP", "PART", "TIME", "DETAIL"}, steps, func(s operator.Event) []string {
		part := ""
		if s.Part > 0 {
			part = strconv.Itoa(s.Part)
		}
		return []string{s.What, part, terminal.ClockText(s.Time), media.Cut(s.Detail, 100)}
	})
}

func (e *env) printPart(n int, p operator.Part) error {
	e.Say("")
	t := e.Table()
	t.Row("part "+strconv.Itoa(n+1), p.Kind)
	if p.Name != "" {
		t.Row("  file", fmt.Sprintf("%s, %s, %s", p.Name, p.MIME, media.Size(p.Bytes)))
		t.Row("  sha256", p.SHA256)
	}
	waits := p.State == string(records.Waiting) // for a person's yes or no to all of its text
	if p.Text != "" && !waits {
		t.Row("  text", media.Cut(p.Text, 200))
	}
	t.Row("  state", p.State)
	t.Row("  message id", p.MessageID)
	if p.PlatformID != "" {
		t.Row("  platform's id", p.PlatformID)
	}
	if p.Sent > 0 {
		t.Row("  on its way", media.Size(p.Sent)+" of "+media.Size(p.Bytes))
	}
	if p.Code != "" {
		t.Row("  code", p.Code)
		t.Row("  message", p.Message)
		t.Row("  to do", e.Remedy(p.Hint))
	}
	if err := t.Flush(); err != nil || !waits {
		return err
	}
	for line := range strings.Lines(p.Text) {
		e.Say("  | %s", strings.TrimRight(line, "\r\n"))
	}
	if p.Alt != "" {
		e.Say("  | alt text: %s", p.Alt)
	}
	for _, c := range p.Choices {
		e.Say("  | choice: %s", c)
	}
	return nil
}

// shortID returns what names an item on the command line: the first 12 characters of a delivery's id,
// or a request's whole name.
func shortID(i operator.Item) string {
	if i.Kind == operator.Delivery && len(i.ID) > 12 {
		return i.ID[:12]
	}
	return i.ID
}
