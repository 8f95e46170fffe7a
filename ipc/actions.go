package ipc

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const knownTypes = `use "message", "file", or another type of docs/protocol.md`

// actionKeys are the keys of requests that are neither a message nor files. Those of
// tasks and groups are NanoClaw v1's.
type actionKeys struct {
	Target  text  `json:"target"`
	Emoji   text  `json:"emoji"`
	Choices texts `json:"choices"`
	Several flag  `json:"several"`
	Seconds count `json:"seconds"`

	TaskID        text   `json:"taskId"`
	Prompt        text   `json:"prompt"`
	ScheduleType  text   `json:"schedule_type"`
	ScheduleValue scalar `json:"schedule_value"`
	ContextMode   text   `json:"context_mode"`
	TargetJID     text   `json:"targetJid"`
	TaskName      text   `json:"name"`

	JID       text `json:"jid"`
	NewFolder text `json:"folder"`
	Trigger   text `json:"trigger"`

	// NanoClaw v1's, too. The host runs no script of a container, and who may mount or
	// call what is the operator's to say.
	Script          text           `json:"script"`
	RequiresTrigger *flag          `json:"requiresTrigger"`
	ContainerConfig jsontext.Value `json:"containerConfig"`

	Limit  count `json:"limit"`
	Before text  `json:"before"`
	Number count `json:"number"`
}

// keysOf are the keys that a type takes beside those of all requests. Those before
// the empty one are needed.
var keysOf = map[Type][]string{
	TypeReact:         {"target", "", "emoji"},
	TypeEdit:          {"target", "text", ""},
	TypeUnsend:        {"target", ""},
	TypeAsk:           {"text", "choices", "", "several", "seconds"},
	TypeScheduleTask:  {"prompt", "schedule_type", "schedule_value", "", "context_mode", "targetJid", "name", "taskId"},
	TypeListTasks:     {""},
	TypeUpdateTask:    {"taskId", "", "prompt", "schedule_type", "schedule_value", "context_mode", "name"},
	TypePauseTask:     {"taskId", ""},
	TypeResumeTask:    {"taskId", ""},
	TypeCancelTask:    {"taskId", ""},
	TypeRegisterGroup: {"jid", "name", "", "folder", "trigger"},
	TypeRefreshGroups: {""},
	TypeListMessages:  {"", "limit", "before"},
	TypeFetchFile:     {"target", "", "number"},
}

// given returns a key that the request has and that is not among keys.
func (w *written) given(keys []string) string {
	for _, k := range []struct {
		key   string
		given bool
	}{
		{"target", w.Target.given}, {"emoji", w.Emoji.given}, {"choices", w.Choices != nil}, {"several", bool(w.Several)},
		{"seconds", w.Seconds != 0}, {"taskId", w.TaskID.given}, {"prompt", w.Prompt.given}, {"schedule_type", w.ScheduleType.given},
		{"schedule_value", w.ScheduleValue != ""}, {"context_mode", w.ContextMode.given}, {"targetJid", w.TargetJID.given},
		{"name", w.TaskName.given}, {"jid", w.JID.given}, {"folder", w.NewFolder.given}, {"trigger", w.Trigger.given},
		{"limit", w.Limit != 0}, {"before", w.Before.given}, {"number", w.Number != 0},
	} {
		if k.given && !slices.Contains(keys, k.key) {
			return k.key
		}
	}
	return ""
}

// action completes a request of a type of keysOf.
func (w *written) action(r Request, keys []string, files bool) (Request, *Refusal) {
	extra := w.given(keys)
	if w.Script.value != "" {
		return r, refuse("not_supported", "tasks have no script: the host runs no code of a container", "leave script out, and say in the prompt what to check first")
	}
	switch {
	case files:
		extra = "filePath"
	case w.Text.given && !slices.Contains(keys, "text"):
		extra = "text"
	}
	if extra != "" {
		return r, notOf(w.Type.value, extra)
	}
	r.Text = w.Text.value
	r.Target, r.Emoji, r.Choices, r.Several, r.Seconds = w.Target.value, w.Emoji.value, w.Choices, bool(w.Several), int(w.Seconds)
	r.TaskID, r.Prompt, r.ScheduleType, r.ScheduleValue = w.TaskID.value, w.Prompt.value, w.ScheduleType.value, string(w.ScheduleValue)
	r.ContextMode, r.TargetJID, r.Name = w.ContextMode.value, w.TargetJID.value, w.TaskName.value
	r.JID, r.NewFolder, r.Trigger = w.JID.value, w.NewFolder.value, w.Trigger.value
	if w.RequiresTrigger != nil && !bool(*w.RequiresTrigger) {
		r.Trigger = "" // every message calls
	}
	r.Limit, r.Before, r.Number = int(w.Limit), w.Before.value, int(w.Number)
	return r, nil
}

func notOf(typ, key string) *Refusal {
	return refuse(CodeConflict, "a request of type "+quote(typ)+" has no key "+quote(key), "leave it out, or correct the type")
}

// checkAction checks the limits of a request of a type of keysOf.
func (r *Request) checkAction(keys []string) *Refusal {
	values := map[string]string{
		"target": r.Target, "emoji": r.Emoji, "text": r.Text, "taskId": r.TaskID, "prompt": r.Prompt, "schedule_type": r.ScheduleType,
		"schedule_value": r.ScheduleValue, "context_mode": r.ContextMode, "targetJid": r.TargetJID, "name": r.Name, "jid": r.JID,
		"folder": r.NewFolder, "trigger": r.Trigger, "before": r.Before, "choices": strings.Join(r.Choices, ""),
	}
	needed := keys[:slices.Index(keys, "")]
	for key, value := range values {
		most := maxField
		switch key {
		case "prompt":
			most = MaxPrompt
		case "text":
			most = MaxText
		case "choices":
			continue
		}
		if refusal := checkField(key, value, most); refusal != nil {
			return refusal
		}
	}
	for _, key := range needed {
		if strings.TrimSpace(values[key]) == "" {
			return refuse(CodeMissing, "a request of type "+quote(string(r.Type))+" needs "+quote(key), "give it")
		}
	}
	switch {
	case r.Type == TypeAsk:
		return r.checkQuestion()
	case len(r.Files) > 0 || len(r.Choices) > 0:
		return notOf(string(r.Type), "files or choices")
	case !slices.Contains([]string{"", "cron", "interval", "once"}, r.ScheduleType):
		return refuse(CodeWrongValue, `"schedule_type" is `+quote(r.ScheduleType), "use cron, interval or once")
	case !slices.Contains([]string{"", "group", "isolated"}, r.ContextMode):
		return refuse(CodeWrongValue, `"context_mode" is `+quote(r.ContextMode), "use group or isolated")
	case r.Limit > 100 || r.Number > 100:
		return refuse(CodeWrongValue, `"limit" or "number" is above 100`, "give at most 100")
	}
	return nil
}

// The bounds of a question. Its choices go to platforms that show at least so many.
const (
	MaxChoices  = 12
	MaxChoice   = 100 // characters of one
	MaxQuestion = 1000
	MaxSeconds  = 24 * 3600
	MinSeconds  = 60
)

func (r *Request) checkQuestion() *Refusal {
	if n := len(r.Choices); n < 2 || n > MaxChoices {
		return refuse(CodeWrongValue, "a question has 2 to 12 choices", "give that many, or ask in words")
	}
	if utf8.RuneCountInString(r.Text) > MaxQuestion {
		return refuse(CodeTooLong, "the question has more than 1,000 characters", "send the long part as a message first")
	}
	seen := map[string]bool{}
	for _, c := range r.Choices {
		switch {
		case strings.TrimSpace(c) == "" || strings.ContainsAny(c, "\r\n"):
			return refuse(CodeWrongValue, "a choice is empty or has several lines", "give each choice as one line")
		case utf8.RuneCountInString(c) > MaxChoice:
			return refuse(CodeTooLong, "a choice has more than 100 characters", "shorten it")
		case seen[strings.ToLower(strings.TrimSpace(c))]:
			return refuse(CodeWrongValue, "two choices are the same", "give different choices")
		}
		if refusal := checkText("choices", c); refusal != nil {
			return refusal
		}
		seen[strings.ToLower(strings.TrimSpace(c))] = true
	}
	if r.Seconds != 0 && (r.Seconds < MinSeconds || r.Seconds > MaxSeconds) {
		return refuse(CodeWrongValue, `"seconds" is not between 60 and 86,400`, "give a minute to a day, or leave it out")
	}
	return nil
}

// texts is a list of texts.
type texts []string

// UnmarshalJSONFrom is called for every value, including null.
func (all *texts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	var list []text
	if d.PeekKind() != jsontext.KindBeginArray {
		return refuse(CodeWrongValue, "key "+quote(d.StackPointer().LastToken())+" is not a list", "write a list of texts")
	}
	if err := json.UnmarshalDecode(d, &list); err != nil {
		return err
	}
	*all = texts{}
	for _, t := range list {
		*all = append(*all, t.value)
	}
	return nil
}

// flag is true or false.
type flag bool

// UnmarshalJSONFrom is called for every value, including null.
func (f *flag) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if k := token.Kind(); k != jsontext.KindTrue && k != jsontext.KindFalse {
		return refuse(CodeWrongValue, "key "+quote(d.StackPointer().LastToken())+" is not true or false", "write true or false, or leave the key out")
	}
	*f = flag(token.Bool())
	return nil
}

// count is a whole number that is not negative.
type count int

// UnmarshalJSONFrom is called for every value, including null.
func (c *count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() == jsontext.KindNumber {
		if n, err := strconv.Atoi(token.String()); err == nil && n >= 0 {
			*c = count(n)
			return nil
		}
	}
	return refuse(CodeWrongValue, "key "+quote(d.StackPointer().LastToken())+" is not a whole number", "write a number such as 60, or leave the key out")
}
