package report

import (
	"cmp"
	"path"
	"slices"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// Entry returns the trail's entry for a delivery as it is now.
func Entry(log *audit.Log, d *records.Delivery) audit.Entry {
	r := Result(*d)
	e := audit.Entry{
		Event: string(r.Status), Group: d.Folder, Request: d.Request, Delivery: d.Key, Asked: d.Asked.UTC(),
		Channel: d.Channel, Chat: log.Mask(string(d.Chat)), Thread: d.Thread, Code: r.Code, Message: r.Message,
	}
	if r.Status == ipc.Delivered || r.Status == ipc.Read { // what members did with it later
		e.Event = string(ipc.Sent)
	}
	for _, p := range d.Parts {
		e.Parts = append(e.Parts, auditParts(p)...)
	}
	return e
}

// auditParts returns the files of a part, the first with the caption, or its text.
func auditParts(p records.Part) (all []audit.Part) {
	o := outcomesOf(p)[0]
	files, link := p.Files, false
	if p.Link != nil {
		files, link = slices.Concat(files, []records.File{p.Link.File}), true
	}
	for _, f := range files {
		all = append(all, audit.Part{
			Kind: string(f.Kind), Name: f.Name, Bytes: f.Size, SHA256: f.SHA256, Status: string(o.Status), Code: o.Code, MessageID: o.MessageID, Link: link,
		})
	}
	if len(all) == 0 {
		all = append(all, audit.Part{Kind: o.Kind, Bytes: int64(len(p.Text)), Status: string(o.Status), Code: o.Code, MessageID: o.MessageID})
	}
	all[0].Text = p.Text
	return all
}

// Refused adds a request to the trail that the spool has put into the errors folder: with
// the chat and the files as the host found them, else as the container named them.
func Refused(log *audit.Log, q spool.Quarantined, it *spool.Item) {
	e := audit.Entry{
		Event: string(ipc.Refused), Time: q.Last, Group: q.Folder, Request: q.Request, Asked: q.Written, Code: q.Code, Message: q.Message,
		Channel: it.Found.Channel, Chat: log.Mask(it.Found.Chat), Parts: refusedParts(it),
	}
	if it.Found.Chat == "" {
		e.Chat = log.Claimed(it.Request.Chat)
	}
	log.Add(e)
}

// refusedParts returns the text and the files that a request asked to send, or what else
// it asked for; nothing of a request that could not be decoded.
func refusedParts(it *spool.Item) (all []audit.Part) {
	r := it.Request
	if r.Text != "" || len(r.Files) == 0 && r.Type != "" {
		all = append(all, audit.Part{Kind: kindOf(r.Type), Bytes: int64(len(r.Text)), Status: string(ipc.Refused), Text: r.Text})
	}
	for i, ref := range r.Files {
		p := audit.Part{Kind: string(ipc.TypeFile), Name: media.SafeName(cmp.Or(ref.Name, path.Base(ref.Path))), Status: string(ipc.Refused), Text: ref.Caption}
		if i < len(it.Found.Files) {
			f := it.Found.Files[i]
			p.Kind, p.Name, p.Bytes, p.SHA256 = cmp.Or(f.Kind, p.Kind), cmp.Or(f.Name, p.Name), f.Size, f.SHA256
		}
		all = append(all, p)
	}
	return all
}

// kindOf returns what entries of the trail call a request without files.
func kindOf(t ipc.Type) string {
	switch t {
	case ipc.TypeMessage, ipc.TypeFile:
		return "text"
	case ipc.TypeAsk:
		return "poll"
	}
	return string(t)
}
