package turns

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/state"
)

// groupState is one group's part of the state.
type groupState struct{ *inbound.Store }

// savingTurn records a turn and what it holds; a turn that is empty is over.
func (s *groupState) savingTurn(of *turn) inbound.Change {
	input := map[int64]string{}
	for _, id := range of.IDs {
		input[id] = ""
	}
	for name, ids := range of.Inputs {
		for _, id := range ids {
			input[id] = name
		}
	}
	assigning := s.Assigning(of.ID, input)
	return func(t *state.Tx) error {
		if err := assigning(t); err != nil {
			return err
		}
		if of.empty() {
			err := t.Exec(`DELETE FROM turn WHERE id = ?`, of.ID)
			return err
		}
		err := t.Exec(`INSERT INTO turn (id, folder, thread, place, started, attempt, remarks) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET started = excluded.started, attempt = excluded.attempt, remarks = excluded.remarks`,
			of.ID, s.Folder, of.Thread, of.Place, of.Started.UnixNano(), of.Attempt, strings.Join(of.Remarks, " "))
		return err
	}
}

// leftover is what an earlier host has left of one group.
type leftover struct {
	inbound.Left
	kept  []*record // Messages, with those of turns
	turns []*turn
}

// load reads what is open of all groups, by folder.
func load(db *state.DB) (map[string]*leftover, error) {
	all, turns := map[string]*leftover{}, map[string]*turn{}
	of := func(folder string) *leftover {
		if all[folder] == nil {
			all[folder] = &leftover{}
		}
		return all[folder]
	}
	err := inbound.Each(db, func(scan func(...any) error) error {
		t := newTurn("", "", 0)
		var folder, remarks string
		var started int64
		if err := scan(&t.ID, &folder, &t.Thread, &t.Place, &started, &t.Attempt, &remarks); err != nil {
			return err
		}
		t.Started, t.Remarks = time.Unix(0, started), strings.Fields(remarks)
		turns[t.ID], of(folder).turns = t, append(of(folder).turns, t)
		return nil
	}, `SELECT id, folder, thread, place, started, attempt, remarks FROM turn ORDER BY started`)
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	messages, err := inbound.Load(db)
	for folder, from := range messages {
		l := of(folder)
		l.Left = *from
		for _, m := range from.Messages {
			r := newRecord(*m)
			l.kept = append(l.kept, r)
			if t := turns[m.Turn]; t != nil {
				t.add(m.Input, []*record{r})
			}
		}
	}
	return all, err
}

// endRuns ends the runs of an earlier host.
func endRuns(db *state.DB) (err error) {
	var open bool
	err = inbound.Each(db, func(scan func(to ...any) error) error { return scan(&open) }, `SELECT EXISTS (SELECT 1 FROM turn_run WHERE ended = 0)`)
	if err == nil && open {
		_, err = db.Exec(context.Background(), `UPDATE turn_run SET ended = ? WHERE ended = 0`, time.Now().UnixNano())
	}
	if err != nil {
		return fmt.Errorf("end the runs of an earlier host: %w", err)
	}
	return nil
}

// agentSession is the agent's session id in a thread, or empty.
func (s *groupState) agentSession(thread string) (id string, err error) {
	_, err = s.Found([]any{&id}, `SELECT session FROM turn_thread WHERE folder = ? AND thread = ?`, s.Folder, thread)
	return id, err
}

// savingSession keeps the agent's session id of a thread, unless the thread was forgotten
// meanwhile.
func (s *groupState) savingSession(thread, id string) inbound.Change {
	if thread == "" {
		return inbound.Exec(`INSERT INTO turn_thread (folder, thread, session, forgotten, used) VALUES (?, '', ?, 0, 0)
			ON CONFLICT (folder, thread) DO UPDATE SET session = excluded.session`, s.Folder, id)
	}
	return inbound.Exec(`UPDATE turn_thread SET session = ?, forgotten = 0 WHERE folder = ? AND thread = ?`, id, s.Folder, thread)
}

// forgettingSession makes a thread's next turn begin a new conversation.
func (s *groupState) forgettingSession(thread string) inbound.Change {
	return inbound.Exec(`UPDATE turn_thread SET session = '' WHERE folder = ? AND thread = ?`, s.Folder, thread)
}

// forgettingSessions does the same for the chat and all of its threads.
func (s *groupState) forgettingSessions() inbound.Change {
	return inbound.Exec(`UPDATE turn_thread SET session = '', forgotten = 0 WHERE folder = ?`, s.Folder)
}

// wasForgotten reports whether a thread's session was dropped to make room.
func (s *groupState) wasForgotten(thread string) (forgotten bool, err error) {
	_, err = s.Found([]any{&forgotten}, `SELECT forgotten = 1 FROM turn_thread WHERE folder = ? AND thread = ?`, s.Folder, thread)
	return forgotten, err
}

// beginning records a run that starts now, and forgets the least recently used threads
// beyond keep.
func (s *groupState) beginning(stamp, thread string, keep int) inbound.Change {
	began := time.Now().UnixNano()
	return func(t *state.Tx) error {
		err := t.Exec(`INSERT INTO turn_run (folder, stamp, thread, seq, began)
			VALUES (?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM turn_run WHERE folder = ?), ?) ON CONFLICT (folder, stamp) DO NOTHING`,
			s.Folder, stamp, thread, s.Folder, began)
		if err == nil {
			err = t.Exec(`DELETE FROM turn_run WHERE folder = ? AND seq <= (SELECT MAX(seq) FROM turn_run WHERE folder = ?) - ?`, s.Folder, s.Folder, maxRuns)
		}
		if err != nil || thread == "" {
			return err
		}
		err = t.Exec(`INSERT INTO turn_thread (folder, thread, session, forgotten, used)
			VALUES (?, ?, '', 0, (SELECT COALESCE(MAX(used), 0) + 1 FROM turn_thread WHERE folder = ?))
			ON CONFLICT (folder, thread) DO UPDATE SET forgotten = 0, used = excluded.used`, s.Folder, thread, s.Folder)
		if err == nil {
			err = t.Exec(`UPDATE turn_thread SET session = '', forgotten = 1 WHERE folder = ? AND thread <> '' AND forgotten = 0
				AND used <= (SELECT used FROM turn_thread WHERE folder = ? AND thread <> '' ORDER BY used DESC LIMIT 1 OFFSET ?)`, s.Folder, s.Folder, keep)
		}
		if err == nil {
			err = t.Exec(`DELETE FROM turn_thread WHERE folder = ? AND thread <> ''
				AND used <= (SELECT used FROM turn_thread WHERE folder = ? AND thread <> '' ORDER BY used DESC LIMIT 1 OFFSET ?)`, s.Folder, s.Folder, maxThreads)
		}
		return err
	}
}

// ended records that a run has ended. If the host dies before, the next host finds out.
func (s *groupState) ended(stamp string) inbound.Change {
	return inbound.Exec(`UPDATE turn_run SET ended = ? WHERE folder = ? AND stamp = ?`, time.Now().UnixNano(), s.Folder, stamp)
}

// threadOf returns the thread of the run that stamped a request, or else of the only run
// that was under way when the request was written. known is false if no run of the group has
// the stamp.
func (s *groupState) threadOf(stamp string, written time.Time) (thread string, known bool, err error) {
	if stamp != "" {
		known, err = s.Found([]any{&thread}, `SELECT thread FROM turn_run WHERE folder = ? AND stamp = ?`, s.Folder, stamp)
		if known || err != nil {
			return thread, known, err
		}
	}
	var ran []string
	err = inbound.Each(s.DB, func(scan func(...any) error) error {
		ran = append(ran, "")
		return scan(&ran[len(ran)-1])
	}, `SELECT thread FROM turn_run WHERE folder = ? AND began <= ? AND (ended = 0 OR ended >= ?) LIMIT 2`, s.Folder, written.UnixNano(), written.UnixNano())
	if len(ran) == 1 {
		thread = ran[0]
	}
	return thread, stamp == "", err
}

const (
	maxThreads = 1000 // threads of a chat that are known, including forgotten ones
	maxRuns    = 200  // past runs that are known, by which a request finds its thread
)
