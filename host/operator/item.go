package operator

import (
	"time"

	"github.com/longshore-bridge/longshore/host/outbox"
)

// itemOf describes a delivery; parts adds its parts.
func itemOf(d outbox.Delivery, parts bool) Item {
	item := Item{
		ID: d.Key, Kind: Delivery, Group: d.Folder, Request: d.Request,
		Channel: d.Channel, Chat: string(d.Chat), Created: d.Created,
		State: string(stateOf(d)),
	}
	for i := range d.Parts {
		ps := partsOf(&d.Parts[i])
		p := ps[0]
		item.Files += len(d.Parts[i].Files)
		item.Bytes += d.Parts[i].Size()
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
	return item
}

// stateOf returns the state of the part that matters most to an operator: open
// before failed, failed before sent.
func stateOf(d outbox.Delivery) outbox.State {
	order := []outbox.State{
		outbox.Sending, outbox.Pending, outbox.Queued, outbox.Failed, outbox.Uncertain,
		outbox.Cancelled, outbox.Sent, outbox.Delivered, outbox.Read,
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
func partsOf(p *outbox.Part) []Part {
	part := Part{
		MessageID: p.MessageID, PlatformID: p.Receipt.ID, Kind: "text", Text: p.Text,
		State: string(p.State), Sent: p.Sent, Attempts: p.Attempts,
		Code: p.Code, Message: p.Message, Hint: p.Hint,
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
		all[i].Name, all[i].Kind, all[i].MIME = f.Name, string(f.Kind), f.MIME
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
