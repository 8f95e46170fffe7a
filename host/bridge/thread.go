package bridge

import (
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// unknownTurn is the note on a file whose request has the stamp of no turn.
const unknownTurn = "the turn that the request names is not known here, so it did not decide the thread"

// setThread sets the thread of a delivery whose request names none. Only the group's own
// chat has the threads of its turns.
func (b *Bridge) setThread(d *records.Delivery, it *spool.Item, assistants Assistants) {
	if _, changes := verbs[it.Request.Type]; changes || d.Thread != "" || it.Request.Turn == ipc.NoTurn || !b.own(d) {
		return
	}
	thread, known := assistants.ThreadOf(it.Folder, it.Request.Turn, it.ModTime)
	d.Thread = thread
	if known {
		return
	}
	b.Log.Debug("request bears the stamp of no turn", "group", it.Folder, "request", it.ID)
	for i := range d.Parts {
		for j := range d.Parts[i].Files {
			f := &d.Parts[i].Files[j]
			f.Note = report.Notes(f.Note, unknownTurn)
		}
	}
}

// asker returns the thread of the group's chat in which a delivery was asked for.
func (b *Bridge) asker(d records.Delivery, assistants Assistants) string {
	if b.own(&d) {
		return d.Thread
	}
	if d.Bound != "" {
		return d.Bound
	}
	thread, _ := assistants.ThreadOf(d.Folder, "", d.Asked)
	return thread
}

// own reports whether a delivery is for its group's own chat.
func (b *Bridge) own(d *records.Delivery) bool {
	g, ok := b.Registry().ByFolder(d.Folder)
	return ok && g.Address() == d.Address()
}

// objectOf returns who may see a delivery, as groups.Asker judges it.
func objectOf(d *records.Delivery) groups.Object {
	return groups.Object{Chat: d.Address(), Thread: d.Thread, Folder: d.Folder, Asked: d.Bound}
}
