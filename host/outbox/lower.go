package outbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/ladder"
	"github.com/longshore-bridge/longshore/host/store"
)

// refused returns the outcome of a permanent error. If the platform refuses only the form of the
// part, the part takes the next lower form, which is recorded before it is sent. A part in
// doubt keeps its form: members may see it.
func (o *Outbox) refused(ch channel.Channel, a *attempt, err error) outcome {
	ms, note, ok := ladder.Down(o.message(a), err, ch.Limits())
	if !ok || !a.part.Doubt.IsZero() || a.part.Act != nil {
		return failed(a, err)
	}
	o.log(a).Info("the platform refuses a form", "instead", note, "error", err)
	files, lower := a.part.Files, make([]Part, len(ms))
	for i, m := range ms {
		p := a.part
		p.MessageID, p.Text, p.ReplyTo, p.Saved = m.ID, m.Text, m.ReplyTo, m.State
		if m.Text == "" {
			p.Written = ""
		}
		p.Unthreaded = p.Unthreaded || m.Thread == "" && a.it.Thread != "" && !a.noThread()
		p.State, p.Next, p.Code, p.Message, p.Hint = Queued, time.Time{}, "", "", ""
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

// lower records that parts take the place of one, and how many changes of later messages came
// to that. It returns false if an operator has cancelled that one meanwhile.
func lower(t *store.Tx, out *outcome, now time.Time) (ended bool, err error) {
	it, position, p, more := out.it, out.pos, &out.lower[0], len(out.lower)-1
	out.unsends = 0
	files, err := encodeFiles(p.Files, false)
	if err != nil {
		return false, err
	}
	// The text stays, and with it what it is made of, which only the record has.
	n, err := t.Changed(`UPDATE part SET state = 'queued', next = 0, doubt = 0, code = '', message = '', hint = '', attempts = ?, message_id = ?, reply_to = ?,
		file = ?, size = ?, blob = ?, receipt_note = ?, unthreaded = ?, saved = ? WHERE delivery = ? AND position = ? AND state IN `+openStates,
		p.Attempts, p.MessageID, p.ReplyTo, files, p.Size(), strings.Join(p.blobs(), " "), p.Receipt.Note, p.Unthreaded, p.Saved, it.id, position)
	if err != nil || n == 0 || more == 0 {
		return n > 0, ofDatabase("record another form", err)
	}
	for _, query := range []string{
		`UPDATE part SET position = -position - ?1 WHERE delivery = ?2 AND position > ?3`,
		`UPDATE part SET position = -position WHERE delivery = ?2 AND position < 0`,
		`UPDATE delivery SET open = open + ?1, changed = ?5 WHERE id = ?2`,
		`UPDATE part SET act = json_set(act, '$.act.part', json_extract(act, '$.act.part') + ?1) WHERE act <> '' AND instr(act, ?4)
			AND json_extract(act, '$.act.of') = ?4 AND json_extract(act, '$.act.part') > ?3`,
	} {
		if _, err := t.Exec(query, more, it.id, position, it.Key, nano(now)); err != nil {
			return false, ofDatabase("record another form", err)
		}
	}
	for i := range out.lower[1:] {
		if err := insertPart(t, it.id, position+1+i, &out.lower[1+i], false); err != nil {
			return false, err
		}
		unsends, err := unsendToo(t, it.Key, position, position+1+i)
		if err != nil {
			return false, ofDatabase("record another form", err)
		}
		out.unsends += unsends
	}
	return true, nil
}

// unsendToo has the unsends of a message that are accepted already unsend another one, too. It
// returns how many there are.
func unsendToo(t *store.Tx, key string, position, another int) (int, error) {
	ends := map[int64]int{} // the position behind each delivery's last part
	rows, err := t.Query(`SELECT delivery, (SELECT 1 + max(position) FROM part WHERE delivery = p.delivery) FROM part p WHERE act <> '' AND instr(act, ?1)
		AND json_extract(act, '$.act.of') = ?1 AND ifnull(json_extract(act, '$.act.part'), 0) = ?2 AND json_extract(act, '$.act.verb') = 'unsend' AND state IN `+openStates, key, position)
	err = each(rows, err, func() error {
		var id int64
		var end int
		err := rows.Scan(&id, &end)
		ends[id] = end
		return err
	})
	for id, end := range ends {
		act := &Act{Verb: VerbUnsend, Files: true, Of: key, Part: another}
		if err == nil {
			err = insertPart(t, id, end, &Part{MessageID: messageID(fmt.Sprint(key, id), end), Act: act, State: Queued}, false)
		}
		if err == nil {
			_, err = t.Exec(`UPDATE delivery SET open = open + 1 WHERE id = ?`, id)
		}
	}
	return len(ends), err
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
	o.use(out.it.Folder, usage{parts: len(rest) + out.unsends})
}
