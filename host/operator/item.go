package operator

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// itemOf describes a delivery; parts adds its parts.
func itemOf(d records.Delivery, parts bool) Item {
	item := Item{
		ID: d.Key, Kind: Delivery, Group: d.Folder, Request: d.Request,
		Channel: d.Channel, Chat: string(d.Chat), Asked: d.Asked, Created: d.Created,
		State: string(stateOf(d)),
	}
	for i := range d.Parts {
		ps := partsOf(&d.Parts[i])
		p := ps[0]
		item.Files += len(d.Parts[i].Files)
		item.name(&d.Parts[i])
		item.Bytes += d.Parts[i].Size()
		item.Done += done(&d.Parts[i])
		item.Attempts += p.Attempts
		if next := d.Parts[i].Next; item.Next == nil && !next.IsZero() {
			item.Next = &next
		}
		if item.Code == "" {
			item.Code, item.Message, item.Hint = p.Code, p.Message, p.Hint
		}
		if parts {
			item.Parts = append(item.Parts, ps...)
		}
	}
	if parts {
		item.Timeline = timeline(&d)
	}
	return item
}

// maxItemText is the length of Item.Text, in characters; the parts have all of it.
const maxItemText = 1000

// name adds to an item what a person has to know who says yes or no to it.
func (i *Item) name(p *records.Part) {
	files := p.Files
	if p.Link != nil {
		files = []records.File{p.Link.File}
	}
	for _, f := range files[:min(len(files), ItemNames-len(i.Names))] {
		i.Names = append(i.Names, f.Name)
	}
	if p.State != records.Waiting {
		return
	}
	words := []string{i.Text, p.Says()}
	for _, f := range p.Files {
		words = append(words, f.Alt)
	}
	if p.Question != nil {
		words = append(words, p.Question.Choices...)
	}
	words = slices.DeleteFunc(words, func(s string) bool { return s == "" })
	i.Text = media.Cut(strings.Join(words, "\n"), maxItemText)
}

// done returns how many bytes of a part's files the platform has.
func done(p *records.Part) int64 {
	switch p.State {
	case records.Sent, records.Delivered, records.Read:
		return p.Size()
	case records.Sending:
		return p.Sent
	}
	return 0
}

// timeline returns the steps of a delivery that its record tells: each part's in order.
func timeline(d *records.Delivery) []Event {
	steps := []Event{{What: "accepted", Time: d.Created}}
	if !d.Asked.IsZero() {
		steps = append([]Event{{What: "requested", Time: d.Asked}}, steps...)
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		add := func(what string, at time.Time, detail string) {
			steps = append(steps, Event{Time: at, What: what, Part: i + 1, Detail: detail})
		}
		if p.Attempts > 0 {
			add("attempts", time.Time{}, strconv.Itoa(p.Attempts))
		}
		if !p.Receipt.Time.IsZero() {
			add("sent", p.Receipt.Time, p.Receipt.Note)
		}
		switch p.State {
		case records.Sent:
		case records.Delivered, records.Read:
			add("delivered", p.DeliveredAt, "")
			if p.State == records.Read {
				add("read", p.ReadAt, "")
			}
		default:
			add(string(p.State), time.Time{}, p.Message)
		}
		if !p.Next.IsZero() {
			add("next attempt", p.Next, "")
		}
	}
	return steps
}

// stateOf returns the state of the part that matters most to an operator: open
// before failed, failed before sent.
func stateOf(d records.Delivery) records.State {
	order := []records.State{
		records.Sending, records.Pending, records.Queued, records.Waiting, records.Failed, records.Uncertain,
		records.Refused, records.Cancelled, records.Sent, records.Delivered, records.Read,
	}
	for _, s := range order {
		for i := range d.Parts {
			if d.Parts[i].State == s {
				return s
			}
		}
	}
	return ""
}

// partsOf describes a part, once for each of its files.
func partsOf(p *records.Part) []Part {
	part := Part{
		MessageID: p.MessageID, PlatformID: p.Receipt.ID, Kind: "text", Text: p.Says(),
		State: string(p.State), Sent: p.Sent, Attempts: p.Attempts,
		Code: p.Code, Message: p.Message, Hint: p.Hint,
	}
	if p.Question != nil {
		part.Choices = p.Question.Choices
	}
	if l := p.Link; l != nil {
		part.Kind, part.Name, part.MIME, part.Bytes, part.SHA256 = "link", l.File.Name, l.File.MIME, l.File.Size, l.File.SHA256
	}
	if len(p.Files) == 0 {
		return []Part{part}
	}
	all, sent := make([]Part, len(p.Files)), p.Sent
	for i, f := range p.Files {
		part.Sent = min(sent, f.Size)
		sent -= part.Sent
		all[i] = part
		all[i].Name, all[i].Alt, all[i].Kind, all[i].MIME = f.Name, f.Alt, string(f.Kind), f.MIME
		all[i].Bytes, all[i].SHA256 = f.Size, f.SHA256
	}
	return all
}

// oldest returns the earlier of two times and ignores a zero time.
func oldest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// ofOutbox turns the outbox's errors into refusals with a remedy.
func ofOutbox(id string, err error) error {
	switch {
	case errors.Is(err, records.ErrNotFound):
		return notFound(id)
	case errors.Is(err, records.ErrAmbiguous):
		return &refusal.Error{Code: CodeAmbiguous, Message: fmt.Sprintf("several deliveries begin with %q", id), Hint: "give more of the id"}
	case errors.Is(err, records.ErrOpen):
		return &refusal.Error{Code: CodeNotFailed, Message: "the delivery is still being sent", Hint: "there is nothing to do; see: longshore queue show " + id}
	case errors.Is(err, records.ErrDecided):
		return &refusal.Error{Code: CodeSettled, Message: "the delivery waits for no answer, or no longer", Hint: "see: longshore queue show " + id}
	case errors.Is(err, records.ErrSettled):
		return &refusal.Error{Code: CodeSettled, Message: "the delivery has ended; it can be neither dropped nor sent again", Hint: "see: longshore queue show " + id}
	case errors.Is(err, outbox.ErrSending):
		return &refusal.Error{Code: CodeSending, Message: "the delivery is being sent at this moment", Hint: "try again in a moment"}
	case errors.Is(err, records.ErrNoBytes):
		return &refusal.Error{Code: CodeNoBytes, Message: "the delivery's files are no longer kept", Hint: "send the file again: longshore send FILE --group GROUP"}
	}
	return err
}
