package turns

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/state"
)

// store is one group's part of the state.
type store struct{ *inbound.Store }

// savingTurn records a turn and what it holds; a turn that is empty is over.
func (s *store) savingTurn(of *turn) inbound.Change {
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
			_, err := t.Exec(`DELETE FROM turn WHERE id = ?`, of.ID)
			return err
		}
		_, err := t.Exec(`INSERT INTO turn (id, folder, thread, place, started, attempt, remarks) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET started = excluded.started, attempt = excluded.attempt, remarks = excluded.remarks`,
			of.ID, s.Folder, of.Thread, of.Place, of.Started.UnixNano(), of.Attempt, strings.Join(of.Remarks, " "))
		return err
	}
}

// left is what an earlier host has left of one group.
type left struct {
	inbound.Left
	kept  []*record // Messages, with those of turns
	turns []*turn
}

// load reads what is open of all groups, by folder.
func load(db *state.DB) (map[string]*left, error) {
	all, turns := map[string]*left{}, map[string]*turn{}
	of := func(folder string) *left {
		if all[folder] == nil {
			all[folder] = &left{}
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
