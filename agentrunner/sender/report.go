package sender

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Report is the outcome of one call. Summary says everything in words and names the
// next step. So a reader who sees only Summary, or only the other fields, is fully
// informed.
type Report struct {
	ID        string        `json:"id" jsonschema:"The request's id; delivery_status takes it."`
	Status    string        `json:"status" jsonschema:"queued, sent, delivered, read, done, failed, refused, uncertain or withdrawn."`
	Summary   string        `json:"summary" jsonschema:"What happened and what to do next, in words."`
	Chat      string        `json:"chat,omitempty" jsonschema:"The chat it went to."`
	Channel   string        `json:"channel,omitempty"`
	MessageID string        `json:"message_id,omitempty" jsonschema:"The chat platform's id of the message; usable as reply_to."`
	Code      string        `json:"code,omitempty" jsonschema:"Why it failed or was refused; stable."`
	Message   string        `json:"message,omitempty"`
	Hint      string        `json:"hint,omitempty" jsonschema:"What to do about it."`
	Files     []Part        `json:"parts,omitempty" jsonschema:"What became of each file or text, in order."`
	Progress  *ipc.Progress `json:"progress,omitempty" jsonschema:"Bytes on their way."`

	// Data is what the host answered to a question or a call: an object. Its "words"
	// are also in Summary.
	Data map[string]any `json:"data,omitempty"`
}

// Part is the outcome of one file or text: the host's ipc.Outcome, with field names
// in the style of the tools.
type Part struct {
	Name      string     `json:"name,omitempty"`
	Kind      string     `json:"kind,omitempty"`
	Size      int64      `json:"size,omitempty"`
	SHA256    string     `json:"sha256,omitempty"`
	Status    ipc.Status `json:"status"`
	MessageID string     `json:"message_id,omitempty"`
	Code      string     `json:"code,omitempty"`
	Message   string     `json:"message,omitempty"`
	Hint      string     `json:"hint,omitempty"`
	Note      string     `json:"note,omitempty"`
}

// withdrawn is the status of a request that its client withdrew before the host
// accepted it.
const withdrawn ipc.Status = "withdrawn"

// Failed reports whether the request was refused or has failed.
func (r Report) Failed() bool {
	return r.Status == string(ipc.Refused) || r.Status == string(ipc.Failed)
}

// with adds the host's result to the report. An empty result changes nothing.
func (r Report) with(result ipc.Result) Report {
	if result.Status == "" {
		return r
	}
	r.Status = string(result.Status)
	if result.Chat != "" {
		r.Chat = result.Chat
	}
	r.Channel, r.MessageID, r.Progress = result.Channel, result.MessageID, result.Progress
	r.Data = nil
	_ = json.Unmarshal(result.Data, &r.Data) // an answer of a newer host may be no object, and none is as good
	r.Code, r.Message, r.Hint = result.Code, media.Printable(result.Message), media.Printable(result.Hint)
	if len(result.Parts) > 0 {
		known := r.Files
		r.Files = make([]Part, len(result.Parts))
		for i, part := range result.Parts {
			part.Name, part.Message, part.Hint, part.Note = media.Printable(part.Name), media.Printable(part.Message), media.Printable(part.Hint), media.Printable(part.Note)
			if len(known) == len(result.Parts) {
				part.Kind = cmp.Or(known[i].act(), part.Kind)
				part.Note = cmp.Or(part.Note, known[i].Note) // for example that a name was changed: the host saw only the new name
			}
			r.Files[i] = Part(part)
		}
	}
	for i := range r.Files {
		if r.Files[i].Status == "" {
			r.Files[i].Status = result.Status
		}
	}
	return r
}

// occasion says in which situation a report with an open status was made.
type occasion int

const (
	afterWaiting    occasion = iota // the call waited for the result
	withoutWaiting                  // the caller did not want to wait
	withoutReceipts                 // the host writes no results
	whenAsked                       // delivery_status
	notTaken                        // the request still lies in the queue
)

// inWords sets Summary. ask is Config.Ask.
func (r Report) inWords(o occasion, waited time.Duration, ask string) Report {
	for i := range r.Files {
		if r.Files[i].Status == "" {
			r.Files[i].Status = ipc.Status(r.Status)
		}
	}
	r.Summary = printable(r.words(o, waited, ask) + r.notes())
	return r
}

// said is the host's answer in words.
func (r Report) said() string {
	words, _ := r.Data["words"].(string)
	task, _ := r.Data["task"].(map[string]any)
	if id, _ := task["id"].(string); id != "" && words != "" && !strings.Contains(words, id) { // a task with a name
		words += " Its task_id is " + id + "."
	}
	return words
}

// later says how to see the answers that come after this report; empty if none can.
func (r Report) later(ask string) string {
	if r.Data["open"] != true {
		return ""
	}
	return " Answers may still come; id: " + r.ID + "; " + cmp.Or(ask, "call delivery_status with it") + " to see them. Do not ask again."
}

// reached reports whether it is in the chat.
func (r Report) reached() bool {
	switch ipc.Status(r.Status) {
	case ipc.Sent, ipc.Delivered, ipc.Read:
		return true
	}
	return false
}

// unanswered reports whether a question is open and nobody has answered it yet.
func (r Report) unanswered() bool {
	answers, _ := r.Data["answers"].([]any)
	return len(answers) == 0 && r.Data["open"] != false
}

func (r Report) words(o occasion, waited time.Duration, ask string) string {
	what := r.what()
	id := ""
	if r.MessageID != "" {
		id = " Message id " + r.MessageID + "."
	}
	if words := r.said(); words != "" && (r.reached() || r.Status == string(ipc.Done)) {
		return words + r.later(ask)
	}
	switch ipc.Status(r.Status) {
	case ipc.Done:
		return "Done."
	case ipc.Sent:
		if did := r.did(); did != "" {
			return did + id
		}
		return "Sent " + what + " to the chat." + id
	case ipc.Delivered:
		return "Delivered " + what + ": it is on a member's device." + id
	case ipc.Read:
		return "Delivered " + what + ", and a member has seen it." + id
	case ipc.Refused:
		return "Not sent: " + r.why() + " Nothing of it is in the chat; correct it before you call again."
	case ipc.Failed:
		return "Could not be sent: " + r.why() + r.partial()
	case ipc.Uncertain:
		return "The chat platform never said whether " + what + " arrived. Ask a member of the chat before you send it again."
	case withdrawn:
		return "Taken back before the host accepted it: nothing was sent."
	}
	return r.queuedWords(o, waited, what, ask)
}

func (r Report) queuedWords(o occasion, waited time.Duration, what, ask string) string {
	then := "; " + cmp.Or(ask, "call delivery_status with it") + " to see how it ends; do not send it again."
	if r.Code == ipc.CodeAwaiting {
		return "Not sent yet: " + what + ". The host keeps it, and " + r.Message + "; id: " + r.ID + then
	}
	switch o {
	case withoutReceipts:
		return "Queued " + what + ". This host gives no receipts, so nobody can say here whether it arrived; id: " + r.ID +
			". Do not send it again unless a member says that it is missing."
	case withoutWaiting:
		return "Queued " + what + "; id: " + r.ID + then
	case notTaken:
		why := "will be sent once the host runs"
		if r.Message != "" { // the host runs, and says why it has not accepted the request
			why = "waits, because " + r.Message
			if r.Hint != "" {
				why += "; " + r.Hint
			}
		}
		return "Not taken by the host yet: " + what + ". It lies in the queue and " + why + "; id: " + r.ID + then
	case whenAsked:
		return "Still on its way: " + what + r.sofar() + ". It is kept and will be sent; id: " + r.ID + ". Do not send it again; ask later."
	}
	return fmt.Sprintf("Still on its way after %s: %s%s. It is kept and will be sent; id: %s%s",
		waited.Round(time.Second), what, r.sofar(), r.ID, then)
}

func (r Report) sofar() string {
	if r.Progress == nil || r.Progress.Total == 0 {
		return ""
	}
	return " (" + progressWords(*r.Progress) + ")"
}

// why returns the host's reason as one or two sentences.
func (r Report) why() string {
	message := cmp.Or(r.Message, "the host gave no reason (code "+r.Code+")")
	return sentence(message) + after(capital(sentence(r.Hint)))
}

// partial names the parts that did arrive although the request failed.
func (r Report) partial() string {
	var sent []string
	for _, f := range r.Files {
		switch f.Status {
		case ipc.Sent, ipc.Delivered, ipc.Read:
			sent = append(sent, partName(f))
		}
	}
	if len(sent) == 0 {
		return " Nothing of it is in the chat."
	}
	return " In the chat already: " + strings.Join(sent, ", ") + "; do not send that again."
}
