package ipc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// check checks a request against the protocol's limits. Encode and Decode both call
// it, so that Decode accepts everything that Encode writes.
func (r *Request) check() *Refusal {
	if !types[r.Type] {
		return unknownType(string(r.Type))
	}
	v := reflect.ValueOf(r).Elem()
	if refusal := checkFields(requestForm, v); refusal != nil {
		return refusal
	}
	for i, f := range requestForm.fields {
		switch value := v.Field(i); {
		case slices.Contains(f.needed, r.Type) && blank(value):
			return missing(r.Type, f.key)
		case !f.takes(r.Type) && !value.IsZero():
			return notOf(string(r.Type), f.key)
		}
	}
	switch {
	case r.Type == TypeFile:
		return r.checkFiles()
	case r.Type == TypeAsk:
		return r.checkQuestion()
	case !slices.Contains([]string{"", "cron", "interval", "once"}, r.ScheduleType):
		return refuse(CodeWrongValue, `"schedule_type" is `+quote(r.ScheduleType), "use cron, interval or once")
	case !slices.Contains([]string{"", "group", "isolated"}, r.ContextMode):
		return refuse(CodeWrongValue, `"context_mode" is `+quote(r.ContextMode), "use group or isolated")
	case r.Limit > 100 || r.Number > 100:
		return refuse(CodeWrongValue, `"limit" or "number" is above 100`, "give at most 100")
	}
	return nil
}

// checkFields checks all texts of a request or of a file.
func checkFields(form form, v reflect.Value) *Refusal {
	for i, f := range form.fields {
		value := v.Field(i)
		if value.Kind() != reflect.String {
			continue
		}
		s := value.String()
		if len(s) > f.most {
			return refuse(CodeTooLong, fmt.Sprintf("%q has %d bytes; the limit is %d", f.key, len(s), f.most), "shorten it; a long text can go as a file")
		}
		if refusal := checkText(f.key, s); refusal != nil {
			return refusal
		}
	}
	return nil
}

func blank(v reflect.Value) bool {
	if v.Kind() == reflect.String {
		return strings.TrimSpace(v.String()) == ""
	}
	return v.Len() == 0 // of choices
}

func missing(t Type, key string) *Refusal {
	if t == TypeMessage {
		return refuse(CodeMissing, "the message has no text", `give "text"`)
	}
	return refuse(CodeMissing, "a request of type "+quote(string(t))+" needs "+quote(key), "give it")
}

func (r *Request) checkFiles() *Refusal {
	switch {
	case len(r.Files) == 0:
		return noFile()
	case len(r.Files) > MaxFiles:
		return tooManyFiles()
	case r.Text != "":
		return refuse(CodeConflict, "a file request has no text of its own", "make it the first file's caption")
	}
	for i := range r.Files {
		f := &r.Files[i]
		if f.Path == "" {
			return refuse(CodeMissing, fmt.Sprintf("file %d of the request has no path", i+1), `give each file a "filePath"`)
		}
		if !slices.Contains([]string{"", "auto", "document", "voice", "gif", "sticker", "original"}, f.As) {
			return refuse(CodeUnknownStyle, `"as" is `+quote(f.As), "use auto, document, voice, gif, sticker or original")
		}
		if refusal := checkFields(fileForm, reflect.ValueOf(f).Elem()); refusal != nil {
			return refusal
		}
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
