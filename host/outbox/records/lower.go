package records

import (
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// moveChanges corrects the changes of a delivery's messages that are accepted already, if more
// messages come behind the one at position: they name the later ones by their positions, and
// an unsend of that one unsends those that came, too. It returns how many unsends came to that.
func moveChanges(t *state.Tx, key string, position, more int) (unsends int, err error) {
	var moved []movedChange
	known := map[int64]bool{} // the deliveries that unsend the one at position
	rows, err := t.Query(`SELECT p.delivery, p.position, p.act, p.state, (SELECT 1 + max(l.position) FROM part l WHERE l.delivery = p.delivery)
		FROM part p WHERE p.act <> '' AND p.act LIKE '%' || ? || '%'`, key)
	err = state.Each(rows, err, func() error {
		var m movedChange
		var act string
		if err := rows.Scan(&m.delivery, &m.position, &act, &m.part.State, &m.end); err != nil {
			return err
		}
		err := m.part.setAct(act)
		if a := m.part.Act; a != nil && a.Of == key && a.Part >= position {
			moved = append(moved, m)
		}
		return err
	})
	for i := 0; err == nil && i < len(moved); i++ {
		switch m := &moved[i]; {
		case m.part.Act.Part > position:
			err = m.move(t, more)
		case m.part.Act.Verb == VerbUnsend && m.part.State.Open() && !known[m.delivery]:
			known[m.delivery], unsends = true, unsends+more
			err = m.unsendToo(t, more)
		}
	}
	return unsends, err
}

// movedChange is a change of a message, at its own delivery and position.
type movedChange struct {
	delivery int64
	position int
	part     Part
	end      int // the position behind the delivery's last part
}

func (m *movedChange) move(t *state.Tx, more int) error {
	m.part.Act.Part += more
	act, err := m.part.actText()
	if err == nil {
		err = t.Exec(`UPDATE part SET act = ? WHERE delivery = ? AND position = ?`, act, m.delivery, m.position)
	}
	return err
}

// unsendToo adds the unsends of the messages that came behind the one that m unsends.
func (m *movedChange) unsendToo(t *state.Tx, more int) error {
	of := m.part.Act
	for i := range more {
		act := &Act{Verb: VerbUnsend, Files: true, Of: of.Of, Part: of.Part + 1 + i}
		id := MessageID(fmt.Sprint(of.Of, m.delivery), m.end+i)
		if err := insertPart(t, m.delivery, m.end+i, &Part{MessageID: id, Act: act, State: Queued}, false); err != nil {
			return err
		}
	}
	return t.Exec(`UPDATE delivery SET open = open + ? WHERE id = ?`, more, m.delivery)
}

// Lower records that parts take the place of one, and how many unsends of later messages came
// to that. It returns false if an operator has cancelled that one meanwhile.
func Lower(t *state.Tx, it *Record, position int, lower []Part, now time.Time) (ended bool, unsends int, err error) {
	p, more := &lower[0], len(lower)-1
	files, err := encodeFiles(p.Files, false)
	if err != nil {
		return false, 0, err
	}
	// The text stays, and with it what it is made of, which only the record has.
	n, err := t.Changed(`UPDATE part SET state = 'queued', next = 0, doubt = 0, code = '', message = '', hint = '', attempts = ?, message_id = ?, reply_to = ?,
		file = ?, size = ?, blob = ?, receipt_note = ?, unthreaded = ?, saved = ? WHERE delivery = ? AND position = ? AND state IN `+openStates,
		p.Attempts, p.MessageID, p.ReplyTo, files, p.Size(), strings.Join(p.Blobs(), " "), p.Receipt.Note, bit(p.Unthreaded), p.Saved, it.ID, position)
	if err != nil || n == 0 || more == 0 {
		return n > 0, 0, ofDatabase("record another form", err)
	}
	err = t.Exec(`UPDATE part SET position = -position - ? WHERE delivery = ? AND position > ?`, more, it.ID, position)
	if err == nil {
		err = t.Exec(`UPDATE part SET position = -position WHERE delivery = ? AND position < 0`, it.ID)
	}
	if err == nil {
		err = t.Exec(`UPDATE delivery SET open = open + ?, changed = ? WHERE id = ?`, more, nano(now), it.ID)
	}
	if err == nil {
		unsends, err = moveChanges(t, it.Key, position, more)
	}
	for i := 1; err == nil && i <= more; i++ {
		err = insertPart(t, it.ID, position+i, &lower[i], false)
	}
	return err == nil, unsends, ofDatabase("record another form", err)
}
