// Package report puts what became of a delivery into the words of those who want to
// know: a result for the agent, an entry for the audit trail, a question for those who
// approve, a sentence for members. Its functions read what they are given and nothing else.
package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// Result returns what the agent reads of a delivery. It depends on the record alone, but
// for its time.
func Result(d records.Delivery) ipc.Result {
	r := ipc.Result{ID: d.Request, Chat: string(d.Chat), Channel: d.Channel, Time: time.Now()}
	var sent, total int64
	open := false
	for _, p := range d.Parts {
		outcomes := outcomesOf(p)
		r.Parts = append(r.Parts, outcomes...)
		o := outcomes[0] // they differ in their files only
		r.Status = worse(r.Status, o.Status)
		if o.MessageID != "" {
			r.MessageID = o.MessageID
		}
		if r.Code == "" && o.Code != "" {
			r.Code, r.Message, r.Hint = o.Code, o.Message, o.Hint
		}
		size := p.Size()
		total += size
		if o.Status == ipc.Queued {
			open = true
			sent += p.Sent
		} else {
			sent += size
		}
	}
	if open && sent > 0 {
		r.Progress = &ipc.Progress{Sent: sent, Total: total}
	}
	return r
}

// outcomesOf returns what became of each file of a part, or of its text.
func outcomesOf(p records.Part) []ipc.Outcome {
	o := ipc.Outcome{
		Kind: "text", Status: cmp.Or(statuses[p.State], ipc.Queued), MessageID: p.Receipt.ID,
		Code: p.Code, Message: p.Message, Hint: p.Hint, Note: p.Receipt.Note,
	}
	switch {
	case p.Act != nil:
		o.Kind, o.MessageID = string(p.Act.Verb), p.Act.Target
	case p.Question != nil:
		o.Kind = "poll"
	case p.Link != nil:
		f := p.Link.File
		o.Kind, o.Name, o.Size, o.SHA256 = "link", f.Name, f.Size, f.SHA256
		o.Note = Notes(Notes(f.Note, "it can be fetched until "+Until(p.Link.Expires)), o.Note)
	}
	if len(p.Files) == 0 {
		return []ipc.Outcome{o}
	}
	all := make([]ipc.Outcome, len(p.Files))
	for i, f := range p.Files {
		all[i] = o
		all[i].Name, all[i].Kind, all[i].Size, all[i].SHA256 = f.Name, string(f.Kind), f.Size, f.SHA256
		all[i].Note = Notes(f.Note, p.Receipt.Note)
	}
	return all
}

// Notes joins two notes on a file, each of which may be empty.
func Notes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// Until returns the form of a time that people read.
func Until(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// statuses has the status of each state but those of open parts, which are queued.
var statuses = map[records.State]ipc.Status{
	records.Sent: ipc.Sent, records.Delivered: ipc.Delivered, records.Read: ipc.Read, records.Uncertain: ipc.Uncertain,
	records.Failed: ipc.Failed, records.Cancelled: ipc.Failed, records.Refused: ipc.Refused,
}

// order ranks statuses by how much they weigh in a request of several parts:
// while one part is open the request is, and a failure outweighs success.
var order = []ipc.Status{ipc.Queued, ipc.Failed, ipc.Uncertain, ipc.Sent, ipc.Delivered, ipc.Read}

func worse(a, b ipc.Status) ipc.Status {
	for _, s := range order {
		if a == s || b == s {
			return s
		}
	}
	return b
}

// LateToAssistant returns what an assistant reads of a failure after its tool has stopped
// waiting.
func LateToAssistant(r ipc.Result) string {
	words := fmt.Sprintf("delivery %s ended as %s after you stopped waiting: %s", r.ID, r.Status, r.Message)
	if r.Hint != "" {
		words += "; " + r.Hint
	}
	return words
}

// LateToMembers returns what the members of a chat read of such a failure.
func LateToMembers(d *records.Delivery, r ipc.Result) string {
	var names []string
	for _, f := range d.AllFiles() {
		names = append(names, f.Name)
	}
	what := "a message of the assistant"
	if len(names) > 0 {
		what = strings.Join(names[:min(len(names), 5)], ", ")
	}
	if r.Status == ipc.Uncertain {
		return "It is not certain that this arrived: " + what + ". " + r.Message
	}
	return "This could not be sent: " + what + ". " + r.Message
}
