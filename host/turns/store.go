package turns

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// seenKeep is how many messages of a group are known again after they are done.
const seenKeep = 2000

// change is a part of one transaction. It may run again, so it keeps nothing but what it
// sets anew.
type change = func(t *state.Tx) error

// store is one group's part of the state.
type store struct {
	db     *state.DB
	folder string
	secret []byte // of senderID and inboxID

	mu   sync.Mutex
	last time.Time // Kept of the last record: these times sort in order
}

// do makes changes durable, all or none.
func (s *store) do(what string, changes ...change) error {
	err := s.db.Do(context.Background(), func(t *state.Tx) error {
		for _, change := range changes {
			if err := change(t); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// exec is a change of one constant statement.
func exec(query string, args ...any) change {
	return func(t *state.Tx) error {
		_, err := t.Exec(query, args...)
		return err
	}
}

// found reads the columns of one row; false: there is none.
func (s *store) found(to []any, query string, args ...any) (bool, error) {
	err := s.db.QueryRowContext(context.Background(), query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each calls row for every row of a query.
func each(db *state.DB, row func(scan func(to ...any) error) error, query string, args ...any) error {
	rows, err := db.QueryContext(context.Background(), query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// key identifies a message of a chat.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// knows reports whether a message with that key was kept before, and over whether it is done.
func (s *store) knows(key string) (known, over bool, err error) {
	var done int64
	known, err = s.found([]any{&done}, `SELECT done FROM assistant_message WHERE folder = ? AND key = ?`, s.folder, key)
	return known, done > 0, err
}

// untouched reports whether the group's assistant has never had a message.
func (s *store) untouched() (bool, error) {
	var one int
	any, err := s.found([]any{&one}, `SELECT 1 FROM assistant_message WHERE folder = ? LIMIT 1`, s.folder)
	return !any, err
}

// adding keeps a record. It gives the record its time, and its id when it is kept.
func (s *store) adding(r *record) change {
	s.mu.Lock()
	r.arrivedAt = time.Now()
	r.Kept = later(s.last.Add(1), r.arrivedAt).Round(0)
	s.last = r.Kept
	s.mu.Unlock()
	return func(t *state.Tx) error {
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		rows, err := t.Query(`INSERT INTO assistant_message (folder, key, thread, kept, body) VALUES (?, ?, ?, ?, ?) RETURNING id`,
			s.folder, r.Key, r.Thread, r.Kept.UnixNano(), string(body))
		if err != nil {
			return err
		}
		defer rows.Close()
		if rows.Next() {
			err = rows.Scan(&r.id)
		}
		return errors.Join(err, rows.Err())
	}
}

// updating keeps a record that has changed, unless it is done meanwhile.
func (s *store) updating(r *record) change {
	return func(t *state.Tx) error {
		body, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = t.Exec(`UPDATE assistant_message SET body = ? WHERE id = ? AND done = 0`, string(body), r.id)
		return err
	}
}

// ending notes records as done, and deletes what they said.
func (s *store) ending(records []*record) change {
	return func(t *state.Tx) error {
		for _, r := range records {
			_, err := t.Exec(`UPDATE assistant_message SET turn = '', input = '', body = '',
				done = (SELECT COALESCE(MAX(done), 0) + 1 FROM assistant_message WHERE folder = ?) WHERE id = ? AND done = 0`, s.folder, r.id)
			if err != nil {
				return err
			}
		}
		if len(records) == 0 {
			return nil
		}
		_, err := t.Exec(`DELETE FROM assistant_message WHERE folder = ? AND done > 0
			AND done <= (SELECT MAX(done) FROM assistant_message WHERE folder = ?) - ?`, s.folder, s.folder, seenKeep)
		return err
	}
}

// savingTurn records a turn and what it holds; a turn that is empty is over.
func (s *store) savingTurn(of *turn) change {
	return func(t *state.Tx) error {
		if _, err := t.Exec(`UPDATE assistant_message SET turn = '', input = '' WHERE turn = ? AND turn <> ''`, of.ID); err != nil {
			return err
		}
		if of.empty() {
			_, err := t.Exec(`DELETE FROM assistant_turn WHERE id = ?`, of.ID)
			return err
		}
		_, err := t.Exec(`INSERT INTO assistant_turn (id, folder, thread, place, started, attempt, remarks) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET started = excluded.started, attempt = excluded.attempt, remarks = excluded.remarks`,
			of.ID, s.folder, of.Thread, of.Place, of.Started.UnixNano(), of.Attempt, strings.Join(of.Remarks, " "))
		if err != nil {
			return err
		}
		input := map[int64]string{}
		for name, ids := range of.Inputs {
			for _, id := range ids {
				input[id] = name
			}
		}
		for _, id := range of.IDs {
			if _, err := t.Exec(`UPDATE assistant_message SET turn = ?, input = ? WHERE id = ? AND done = 0`, of.ID, input[id], id); err != nil {
				return err
			}
		}
		return nil
	}
}

// left is what an earlier host has left of one group.
type left struct {
	kept    []*record // in order, with those of turns
	turns   []*turn
	pending []*pendingFile
}

// load reads what is open of all groups, by folder.
func load(db *state.DB) (map[string]*left, error) {
	all := map[string]*left{}
	of := func(folder string) *left {
		if all[folder] == nil {
			all[folder] = &left{}
		}
		return all[folder]
	}
	turns := map[string]*turn{}
	err := each(db, func(scan func(...any) error) error {
		t := newTurn("", "", 0)
		var folder, remarks string
		var started int64
		if err := scan(&t.ID, &folder, &t.Thread, &t.Place, &started, &t.Attempt, &remarks); err != nil {
			return err
		}
		t.Started, t.Remarks = time.Unix(0, started), strings.Fields(remarks)
		turns[t.ID], of(folder).turns = t, append(of(folder).turns, t)
		return nil
	}, `SELECT id, folder, thread, place, started, attempt, remarks FROM assistant_turn ORDER BY started`)
	if err != nil {
		return nil, fmt.Errorf("read turns: %w", err)
	}
	err = each(db, func(scan func(...any) error) error {
		r := &record{}
		var folder, turn, input, body string
		var kept int64
		if err := scan(&r.id, &folder, &r.Key, &r.Thread, &kept, &turn, &input, &body); err != nil {
			return err
		}
		r.Kept = time.Unix(0, kept)
		r.arrivedAt = time.Now().Add(-max(0, time.Since(r.Kept))) // the clock may have been set back
		of(folder).kept = append(of(folder).kept, r)
		if t := turns[turn]; t != nil {
			t.add(input, []*record{r})
		}
		return json.Unmarshal([]byte(body), r)
	}, `SELECT id, folder, key, thread, kept, turn, input, body FROM assistant_message WHERE done = 0 ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	err = each(db, func(scan func(...any) error) error {
		w := &pendingFile{}
		var folder, body string
		if err := scan(&folder, &w.Message, &w.Index, &body); err != nil {
			return err
		}
		of(folder).pending = append(of(folder).pending, w)
		return json.Unmarshal([]byte(body), w)
	}, `SELECT folder, message, position, body FROM assistant_file ORDER BY folder, message, position`)
	if err != nil {
		return nil, fmt.Errorf("read references of files: %w", err)
	}
	return all, nil
}

// begin reads the secret of this installation, which it makes at the first start, and ends
// the runs of an earlier host.
func begin(db *state.DB) (secret []byte, err error) {
	fresh := make([]byte, secretSize)
	_, _ = rand.Read(fresh) // never fails
	var needs bool
	err = each(db, func(scan func(...any) error) error { return scan(&needs) },
		`SELECT NOT EXISTS (SELECT 1 FROM assistant_secret) OR EXISTS (SELECT 1 FROM assistant_run WHERE ended = 0)`)
	if err == nil && needs {
		err = (&store{db: db}).do("begin",
			exec(`INSERT INTO assistant_secret (id, secret) VALUES (1, ?) ON CONFLICT (id) DO NOTHING`, fresh),
			exec(`UPDATE assistant_run SET ended = ? WHERE ended = 0`, time.Now().UnixNano()))
	}
	if err == nil {
		err = each(db, func(scan func(...any) error) error { return scan(&secret) }, `SELECT secret FROM assistant_secret`)
	}
	if err != nil {
		return nil, fmt.Errorf("begin with the messages for assistants: %w", err)
	}
	return secret, nil
}
