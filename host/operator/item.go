package operator

import (
	"time"

	"github.com/longshore-bridge/longshore/host/outbox"
)

// itemOf describes a delivery; with parts, whole.
func itemOf(d outbox.Delivery, parts bool) Item {
	item := Item{
		ID: d.Key, Kind: Delivery, Group: d.Folder, Request: d.Request,
		Channel: d.Channel, Chat: string(d.Chat), Created: d.Created,
		State: string(stateOf(d)),
	}
	for i := range d.Parts {
		p := partOf(&d.Parts[i])
		if d.Parts[i].File != nil {
			item.Files++
		}
		item.Bytes += p.Bytes
		item.Attempts += p.Attempts
		if next := d.Parts[i].Next; item.Next == nil && !next.IsZero() {
			item.Next = &next
		}
		if item.Code == "" {
			item.Code, item.Message, item.Hint = p.Code, p.Message, p.Hint
		}
		if parts {
			item.Parts = append(item.Parts, p)
		}
	}
	return item
}

// stateOf is the state of the part that an operator cares about most: what is
// open before what failed, and that before what was sent.
func stateOf(d outbox.Delivery) outbox.State {
	order := []outbox.State{
		outbox.Sending, outbox.Queued, outbox.Failed, outbox.Uncertain,
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

func partOf(p *outbox.Part) Part {
	part := Part{
		MessageID: p.MessageID, PlatformID: p.Receipt.ID, Kind: "text", Text: p.Text,
		State: string(p.State), Sent: p.Sent, Attempts: p.Attempts,
		Code: p.Code, Message: p.Message, Hint: p.Hint,
	}
	if p.File != nil {
		part.Name, part.Kind, part.MIME = p.File.Name, string(p.File.Kind), p.File.MIME
		part.Bytes, part.SHA256 = p.File.Size, p.File.SHA256
	}
	return part
}

// oldest is the earlier of two times, of which the zero one counts for nothing.
func oldest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
