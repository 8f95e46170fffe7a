package command

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/media"
)

func newTasks(e *env) *cobra.Command {
	var group string
	list := &cobra.Command{
		Use:   "list",
		Short: "list what assistants have scheduled",
		Args:  terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := e.folderOf(&group); err != nil {
				return err
			}
			return askFor(e, cmd, operator.Control.Tasks, group, e.listTasks)
		},
	}
	list.Flags().StringVarP(&group, "group", "g", "", "only this group's; its `folder`, name or chat")
	show := &cobra.Command{
		Use:   "show ID",
		Short: "show one task with its prompt",
		Args:  terminal.Exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				all, err := c.Tasks(cmd.Context(), "")
				if err != nil {
					return err
				}
				i := slices.IndexFunc(all, func(t tasks.Task) bool { return t.ID == args[0] })
				if i < 0 {
					return terminal.Hinted(errors.New("no task has the id "+media.Printable(args[0])), "see: longshore tasks list")
				}
				return e.Answer(all[i], func() error { return e.printTask(all[i]) })
			})
		},
	}
	return terminal.Family("tasks", "look at what assistants have scheduled, and act on it", list, show,
		newTaskVerb(e, "pause", "let no due time of a task begin a run"), newTaskVerb(e, "resume", "let a paused task run again, from its next time on"),
		newTaskVerb(e, "cancel", "delete a task"), newTaskVerb(e, "run", "begin a run of a task now; its schedule stays as it is"))
}

func newTaskVerb(e *env, verb, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Args:  terminal.Exactly("id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.withControl(cmd.Context(), func(c operator.Control) error {
				answer, err := c.OperateTask(cmd.Context(), args[0], verb)
				if err != nil {
					return err
				}
				return e.Answer(answer, func() error { e.Say("%s", answer.Words); return nil })
			})
		},
	}
}

func (e *env) listTasks(all []tasks.Task) error {
	if len(all) == 0 {
		e.Say("nothing is scheduled")
		return nil
	}
	t := e.Table("ID", "GROUP", "NAME", "SCHEDULE", "STATUS", "NEXT", "ZONE")
	for _, one := range all {
		t.Row(one.ID, one.Folder, cmp.Or(one.Name, media.Cut(one.Prompt, 30)), one.Type+" "+one.Value, one.Status, inZone(one.Next, one.Zone), one.Zone)
	}
	return t.Flush()
}

// inZone is a time by the clocks of a zone of that name.
func inZone(t time.Time, name string) string {
	if t.IsZero() {
		return "-"
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04 -0700")
}

func (e *env) printTask(t tasks.Task) error {
	e.Say("task      %s\ngroup     %s", t.ID, t.Folder)
	e.Say("name      %s\nschedule  %s %s", t.Name, t.Type, t.Value)
	e.Say("timezone  %s", t.Zone)
	e.Say("context   %s\nstatus    %s\n          %s", t.Mode, t.Status, t.Words)
	if !t.Last.IsZero() {
		e.Say("last run  %s", inZone(t.Last, t.Zone))
	}
	e.Say("\n%s", t.Prompt)
	return nil
}
