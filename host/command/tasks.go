package command

import (
	"cmp"
	"context"
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
	list := newGroupList(e, "list what assistants have scheduled", operator.Control.Tasks, e.listTasks)
	show := terminal.Verb("show ID", "show one task with its prompt", func(cmd *cobra.Command, args []string) error {
		return ask(e, cmd, func(c operator.Control, ctx context.Context) (tasks.Task, error) {
			all, err := c.Tasks(ctx, "")
			if i := slices.IndexFunc(all, func(t tasks.Task) bool { return t.ID == args[0] }); i >= 0 {
				return all[i], err
			}
			return tasks.Task{}, cmp.Or(err, terminal.Hinted(errors.New("no task has the id "+media.Printable(args[0])), "see: longshore tasks list"))
		}, e.printTask)
	})
	return terminal.Family("tasks", "look at what assistants have scheduled, and act on it", list, show,
		newTaskVerb(e, "pause", "let no due time of a task begin a run"), newTaskVerb(e, "resume", "let a paused task run again, from its next time on"),
		newTaskVerb(e, "cancel", "delete a task"), newTaskVerb(e, "run", "begin a run of a task now; its schedule stays as it is"))
}

func newTaskVerb(e *env, verb, short string) *cobra.Command {
	return terminal.Verb(verb+" ID", short, func(cmd *cobra.Command, args []string) error {
		return ask(e, cmd, func(c operator.Control, ctx context.Context) (tasks.Answer, error) {
			return c.OperateTask(ctx, args[0], verb)
		},
			func(answer tasks.Answer) error { e.Say("%s", answer.Words); return nil })
	})
}

func (e *env) listTasks(all []tasks.Task) error {
	head := []string{"ID", "GROUP", "NAME", "SCHEDULE", "STATUS", "NEXT", "ZONE"}
	return terminal.List(&e.Terminal, "nothing is scheduled", head, all, func(t tasks.Task) []string {
		return []string{t.ID, t.Folder, cmp.Or(t.Name, media.Cut(t.Prompt, 30)), t.Type + " " + t.Value, t.Status, inZone(t.Next, t.Zone), t.Zone}
	})
}

// inZone writes a time in the time zone of that name, in UTC if there is no such zone.
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
