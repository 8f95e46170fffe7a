package bridge

import (
	"cmp"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

// Refused notes a request that the spool has put into the errors folder: with the chat and
// the files as the host found them, and as the container named them where it did not.
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

// refusedParts are the text and the files that a request asked to send, or what else it
// asked for. Of what could not be decoded there are none.
func refusedParts(it *spool.Item) (all []audit.Part) {
	r := it.Request
	if r.Text != "" || len(r.Files) == 0 && r.Type != "" {
		all = append(all, audit.Part{Kind: kindOf(r.Type), Bytes: int64(len(r.Text)), Status: string(ipc.Refused), Text: r.Text})
	}
	for i, ref := range r.Files {
		p := audit.Part{Kind: string(ipc.TypeFile), Name: media.SafeName(nameOf(ref)), Status: string(ipc.Refused), Text: ref.Caption}
		if i < len(it.Found.Files) {
			f := it.Found.Files[i]
			p.Kind, p.Name, p.Bytes, p.SHA256 = cmp.Or(f.Kind, p.Kind), cmp.Or(f.Name, p.Name), f.Size, f.SHA256
		}
		all = append(all, p)
	}
	return all
}

// kindOf is what entries of the trail call a request without files.
func kindOf(t ipc.Type) string {
	switch t {
	case ipc.TypeMessage, ipc.TypeFile:
		return "text"
	case ipc.TypeAsk:
		return "poll"
	}
	return string(t)
}

// heads notes where a request goes.
func (d destination) heads(found *spool.Found) {
	found.Chat = string(d.chat)
	if d.channel != nil {
		found.Channel = d.channel.Name()
	}
}

// measured notes what the next file of the request is.
func (o origin) measured(info media.Info) {
	if f := o.found.Files; info.Kind != "" {
		f[len(f)-1] = ipc.Outcome{Name: info.Name, Kind: string(info.Kind), Size: info.Size}
	}
}

// copied notes the bytes of a file that was copied, although it may be refused now.
func (o origin) copied(b outbox.Blob) {
	f := &o.found.Files[len(o.found.Files)-1]
	f.Size, f.SHA256 = b.Size, b.SHA256
}
