package outbox

import (
	"context"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/ladder"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// refused returns the outcome of a permanent error. If the platform refuses only the form of the
// part, the part takes the next lower form, which is recorded before it is sent. A part in
// doubt keeps its form: members may see it.
func (o *Outbox) refused(ch channel.Channel, a *attempt, err error) outcome {
	ms, note, ok := ladder.Down(o.message(context.Background(), a), err, ch.Limits())
	if !ok || !a.part.Doubt.IsZero() || a.part.Act != nil {
		return failed(a, err)
	}
	o.log(a).Info("the platform refuses a form", "instead", note, "error", err)
	files, lower := a.part.Files, make([]records.Part, len(ms))
	for i, m := range ms {
		p := a.part
		p.MessageID, p.Text, p.ReplyTo, p.Saved = m.ID, m.Text, m.ReplyTo, m.State
		if m.Text == "" {
			p.Written = ""
		}
		p.Unthreaded = p.Unthreaded || m.Thread == "" && a.it.Thread != "" && !a.noThread()
		p.State, p.Next, p.Code, p.Message, p.Hint = records.Queued, time.Time{}, "", "", ""
		p.Receipt.Note = noted(p.Receipt.Note, note)
		p.Files = nil
		for j := range m.Files {
			f := files[j]
			f.Info = m.Files[j].Info
			p.Files = append(p.Files, f)
		}
		files = files[len(m.Files):]
		lower[i] = p
	}
	return outcome{attempt: a, part: lower[0], lower: lower}
}

// noted adds a note to those before.
func noted(before, note string) string {
	if strings.Contains(before, note) {
		return before
	}
	return strings.TrimPrefix(before+"; "+note, "; ")
}

// lowered updates memory after lower. The caller holds mu.
func (o *Outbox) lowered(out *outcome) {
	out.ln.lowering = false
	rest := out.lower[1:]
	if !out.ended || len(rest) == 0 {
		return
	}
	o.trim(out.ln) // the changes of later messages are read anew
	out.it.Parts = append(out.it.Parts[:out.pos+1:out.pos+1], append(rest, out.it.Parts[out.pos+1:]...)...)
	o.use(out.it.Folder, records.Usage{Parts: len(rest) + out.unsends})
}
