package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Call is an assistant's request about tasks.
type Call struct {
	Key     string // the same if the request is seen again
	From    groups.Asker
	Chat    groups.Address
	Thread  string // of the turn that asks
	Request ipc.Request
}

// Answer is what a call brings. Words say it for people.
type Answer struct {
	Task  *Task  `json:"task,omitempty"`
	Tasks []Task `json:"tasks,omitempty"`
	Words string `json:"words"`

	folder string // of the task
}

// Answer does what a call asks for, once for each key, and returns what it did the
// first time again. Errors are refusals, or pass.
func (ts *Tasks) Answer(ctx context.Context, c Call) (any, error) {
	g, ok := ts.o.Host.Registry().ByFolder(c.From.Folder())
	switch {
	case !ok:
		return nil, refuse("unknown_group", "this group is not configured any more", "ask the operator")
	case !g.Actions.Has(groups.ActSchedule):
		return nil, refuse("not_allowed", "the operator does not allow this group to schedule tasks", "do without it")
	case c.Request.Type == ipc.TypeListTasks:
		return ts.listFor(ctx, g, c.From)
	}
	var answer json.RawMessage
	var changed string
	err := ts.within(ctx, "answer "+string(c.Request.Type), func(tx *state.Tx) (err error) {
		if answer, err = answeredBefore(tx, c.Key); err != nil || answer != nil {
			return err
		}
		a, err := ts.do(tx, g, c)
		if err != nil {
			return err
		}
		changed = a.folder
		if answer, err = json.Marshal(a); err != nil {
			return err
		}
		return keepAnswer(tx, c.Key, answer, ts.o.Now())
	})
	if err != nil {
		return nil, err
	}
	wake.Up(ts.wake)
	if changed != "" {
		ts.o.Host.TasksChanged(changed)
	}
	return answer, nil
}

func refuse(code, message, hint string) error {
	return &refusal.Error{Code: code, Message: message, Hint: hint}
}

func unknownTask(id string) error {
	return refuse("unknown_task", "no task has the id "+media.Printable(id), "list_tasks names the tasks that there are")
}

func (ts *Tasks) do(tx *state.Tx, g groups.Group, c Call) (Answer, error) {
	r := c.Request
	if r.Type == ipc.TypeScheduleTask {
		return ts.schedule(tx, g, c)
	}
	t, err := ts.find(tx, g, c)
	if err != nil {
		return Answer{}, err
	}
	if r.Type == ipc.TypeUpdateTask || r.Type == ipc.TypeResumeTask { // its words will be said in that chat
		if err := ts.o.Host.Registry().MayTask(g.Folder, t.Folder); err != nil {
			return Answer{}, err
		}
	}
	switch r.Type {
	case ipc.TypeUpdateTask:
		err = ts.update(&t, r)
	case ipc.TypePauseTask:
		err = pause(&t)
	case ipc.TypeResumeTask:
		err = ts.resume(&t)
	case ipc.TypeCancelTask:
		return cancelTask(tx, t)
	default:
		return Answer{}, refuse("not_supported", "tasks do not answer requests of type "+string(r.Type), "see list_tasks")
	}
	if err == nil {
		err = save(tx, t)
	}
	if err != nil {
		return Answer{}, err
	}
	did := map[ipc.Type]string{ipc.TypeUpdateTask: "Changed", ipc.TypePauseTask: "Paused", ipc.TypeResumeTask: "Resumed"}[r.Type]
	return ts.answerOf(t, did), nil
}

// find returns the task that a call names, if it exists for who asks: nobody learns which
// ids others have.
func (ts *Tasks) find(tx *state.Tx, g groups.Group, c Call) (Task, error) {
	for _, id := range []string{ownID(c.From, c.Request.TaskID), c.Request.TaskID} {
		t, err := byID(tx, id)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return Task{}, err
		}
		if err == nil && ts.sees(c.From, g, t) {
			return t, nil
		}
	}
	return Task{}, unknownTask(c.Request.TaskID)
}

// sees reports whether a task exists for who asks, in the name of g.
func (ts *Tasks) sees(from groups.Asker, g groups.Group, t Task) bool {
	in, _ := ts.o.Host.Registry().ByFolder(t.Folder)
	return (t.Folder == g.Folder || t.Owner == g.Folder || g.Main) &&
		from.Sees(groups.Object{Chat: in.Address(), Thread: t.Thread, Folder: t.Owner, Asked: t.bound})
}

// ownMark stands in the id of a task whose chosen id another one has, which does not exist
// for who chose it. Nobody is shown what follows the mark, and no chosen id has one.
const ownMark = "~"

func ownID(from groups.Asker, id string) string {
	thread, _ := from.Bound()
	sum := sha256.Sum256([]byte(from.Folder() + "\x00" + thread))
	return id + ownMark + hex.EncodeToString(sum[:4])
}

// Shown is the id as who scheduled the task chose it.
func (t *Task) Shown() string {
	id, _, _ := strings.Cut(t.ID, ownMark)
	return id
}

// freeID returns the id of a new task for which a call chose one.
func (ts *Tasks) freeID(tx *state.Tx, g groups.Group, c Call) (string, error) {
	id := c.Request.TaskID
	if !idForm.MatchString(id) {
		return "", refuse("wrong_task_id", "the task's id is not 1 to 64 letters, digits, ., _ and -", "leave it out")
	}
	if _, err := ts.find(tx, g, c); refusal.Of(err) == nil {
		return "", cmp.Or(err, refuse("wrong_task_id", "a task has that id already", "leave it out, or use update_task"))
	}
	if _, err := byID(tx, id); !errors.Is(err, sql.ErrNoRows) {
		return ownID(c.From, id), err
	}
	return id, nil
}

// answerOf is an answer about one task.
func (ts *Tasks) answerOf(t Task, did string) Answer {
	t.describe(ts.o.Host.Zone(t.Folder))
	if t.Owner == t.Folder {
		t.Owner = ""
	}
	t.ID = t.Shown()
	return Answer{Task: &t, folder: t.Folder, Words: fmt.Sprintf("%s the task %s: %s.", did, cmp.Or(t.Name, t.ID), t.Words)}
}

func (ts *Tasks) schedule(tx *state.Tx, g groups.Group, c Call) (Answer, error) {
	r, now := c.Request, ts.o.Now()
	target, thread, err := ts.target(g, c)
	if err != nil {
		return Answer{}, err
	}
	s, err := Parse(r.ScheduleType, r.ScheduleValue, ts.o.Host.Zone(target.Folder))
	if err != nil {
		return Answer{}, err
	}
	next, err := s.First(now)
	if err != nil {
		return Answer{}, err
	}
	bound, _ := c.From.Bound()
	c.Request.TaskID = cmp.Or(r.TaskID, idOf(c.Key))
	t := Task{
		Folder: target.Folder, Owner: g.Folder, Thread: thread, bound: bound, Name: r.Name, Prompt: r.Prompt, Type: s.Type, Value: s.Value,
		Mode: cmp.Or(r.ContextMode, "group"), Status: Active, Next: next, created: now, zone: s.zone.String(),
	}
	if err := t.check(); err != nil {
		return Answer{}, err
	}
	if t.ID, err = ts.freeID(tx, g, c); err != nil {
		return Answer{}, err
	}
	var count int
	if err := tx.QueryRow(`SELECT count(*) FROM task WHERE folder = ? AND status <> 'completed'`, t.Folder).Scan(&count); err != nil {
		return Answer{}, err
	}
	if count >= MaxTasks {
		return Answer{}, refuse("too_many_tasks", fmt.Sprintf("this chat has %d tasks already", count), "cancel some that nobody needs any more; see list_tasks")
	}
	return ts.answerOf(t, "Scheduled"), save(tx, t)
}

// target is the group in whose chat a task is to run, and the thread.
func (ts *Tasks) target(g groups.Group, c Call) (groups.Group, string, error) {
	thread := c.Thread
	target, err := ts.o.Host.Registry().TaskChat(g.Folder, c.Request.TargetJID)
	if err != nil {
		return g, "", err
	}
	if target.Folder != g.Folder {
		thread = ""
	}
	if target.Assistant == "" {
		return g, "", refuse("no_assistant", "the group "+media.Printable(target.Name)+" has no assistant that could run a task", "choose another chat")
	}
	return target, thread, nil
}

// idForm is the form of a task's id that an assistant chose, as NanoClaw v1's do.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func idOf(key string) string {
	sum := sha256.Sum256([]byte("task\x00" + key))
	return "task-" + hex.EncodeToString(sum[:5])
}

// check refuses what is too large.
func (t *Task) check() error {
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return refuse(ipc.CodeMissing, "the task has no prompt", "say what to do when it is due")
	case len(t.Prompt) > MaxPrompt:
		return refuse("prompt_too_long", fmt.Sprintf("the prompt has %d bytes; a task's has at most %d", len(t.Prompt), MaxPrompt), "put the details into a file in the workspace, and name it in the prompt")
	case utf8.RuneCountInString(t.Name) > MaxName || strings.ContainsAny(t.Name, "\r\n"):
		return refuse("wrong_name", "the name is longer than 100 characters or has several lines", "give a short one")
	}
	return nil
}

// update changes what the request names. A new schedule counts from now on.
func (ts *Tasks) update(t *Task, r ipc.Request) error {
	t.Prompt, t.Name, t.Mode = cmp.Or(r.Prompt, t.Prompt), cmp.Or(r.Name, t.Name), cmp.Or(r.ContextMode, t.Mode)
	if err := t.check(); err != nil || r.ScheduleType == "" && r.ScheduleValue == "" {
		return err
	}
	s, err := Parse(cmp.Or(r.ScheduleType, t.Type), cmp.Or(r.ScheduleValue, t.Value), ts.o.Host.Zone(t.Folder))
	if err != nil {
		return err
	}
	next, err := s.First(ts.o.Now())
	if err != nil {
		return err
	}
	t.Type, t.Value, t.zone, t.Skipped = s.Type, s.Value, s.zone.String(), 0
	switch t.Status {
	case Paused: // it stays so
	default:
		t.Status, t.Next = Active, next
	}
	return nil
}

func pause(t *Task) error {
	if t.Status == Completed {
		return refuse("task_completed", "the task has run and is not due any more", "schedule a new one")
	}
	t.Status, t.Next = Paused, time.Time{}
	return nil
}

// resume has a task due at its next time from now on: what it missed is not made up.
func (ts *Tasks) resume(t *Task) error {
	if t.Status == Active {
		return nil
	}
	s, err := Parse(t.Type, t.Value, ts.o.Host.Zone(t.Folder))
	if err != nil {
		return err
	}
	next, err := s.First(ts.o.Now())
	if err != nil {
		return err
	}
	t.Status, t.Next, t.zone, t.Skipped = Active, next, s.zone.String(), 0
	return nil
}

func cancelTask(tx *state.Tx, t Task) (Answer, error) {
	for _, statement := range []string{`DELETE FROM task WHERE id = ?`, `DELETE FROM task_run WHERE task = ?`} {
		if err := tx.Exec(statement, t.ID); err != nil {
			return Answer{}, err
		}
	}
	words := "Cancelled the task " + cmp.Or(t.Name, t.Shown()) + "."
	if t.Running {
		words += " Its run under way goes on."
	}
	return Answer{Words: words, folder: t.Folder}, nil
}

// maxListed is how many bytes of tasks an answer lists, below ipc.MaxData.
const maxListed = 40 << 10

// listFor lists a group's tasks, or for main those of all groups, with the beginnings
// of their prompts.
func (ts *Tasks) listFor(ctx context.Context, g groups.Group, from groups.Asker) (any, error) {
	folder := g.Folder
	if g.Main {
		folder = ""
	}
	all, err := ts.List(ctx, folder)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(t Task) bool { return !ts.sees(from, g, t) })
	a := Answer{Tasks: []Task{}, Words: "No tasks are scheduled."}
	size := 0
	for _, t := range all {
		t.Prompt, t.ID = beginning(t.Prompt), t.Shown()
		if t.Owner == t.Folder {
			t.Owner = ""
		}
		data, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > maxListed {
			break
		}
		a.Tasks = append(a.Tasks, t)
	}
	if len(all) > 0 {
		a.Words = media.Count(len(all), "task") + listed(a.Tasks)
	}
	if more := len(all) - len(a.Tasks); more > 0 {
		a.Words += fmt.Sprintf("\n%d more are not shown.", more)
	}
	return a, nil
}

func listed(all []Task) string {
	var b strings.Builder
	b.WriteString(":")
	for i, t := range all {
		if i == MaxTasks {
			break
		}
		fmt.Fprintf(&b, "\n- %s", t.ID)
		if t.Name != "" {
			fmt.Fprintf(&b, " (%s)", t.Name)
		}
		fmt.Fprintf(&b, ", %s: %s", t.Status, t.Words)
	}
	return b.String()
}

// beginning is the first part of a prompt, for lists.
func beginning(prompt string) string {
	const most = 200
	if len(prompt) <= most {
		return prompt
	}
	return strings.ToValidUTF8(prompt[:most], "") + "…"
}
