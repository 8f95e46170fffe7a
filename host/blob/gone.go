package blob

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
)

// A blob in a place goes in two steps: a commit notes that it goes, and once that is durable and
// some time has passed, it is deleted. In a cluster each commit has the fence of the owner, so no
// host that has lost its lease deletes anything that a record of the next owner names.
const (
	KeepGone    = time.Hour       // after the record has gone: a backup of that moment may want it
	KeepStrange = store.KeepSwept // without any record: the record may have been lost
)

// placeSchema is the part of Schema for blobs in a place.
const placeSchema = `
-- Row 1: the mark that the place of the files has too. Row 2: the one that a place is to get. Row 3: that place.
CREATE TABLE blob_place (id INTEGER PRIMARY KEY, mark TEXT NOT NULL);

-- Blobs in the place that no record names, and when each is deleted, in Unix seconds.
CREATE TABLE blob_gone (
	name TEXT    PRIMARY KEY,
	due  INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX blob_gone_due ON blob_gone (due);
`

// ReadMark returns the mark of the place; empty if the database has none yet.
func ReadMark(t *store.Tx) (mark string, err error) {
	err = t.QueryRow(`SELECT COALESCE(max(mark), '') FROM blob_place WHERE id = 1`).Scan(&mark)
	return mark, err
}

// NewMark returns the mark that Claim is to give a place, and makes it at the first call for that place. It is
// durable before the place has it. So whoever takes the place for this database, and however late,
// writes the same. Another place gets another mark: row 3 says which one row 2 is for.
func NewMark(t *store.Tx, p Place) (mark string, err error) {
	err = t.QueryRow(`SELECT COALESCE(max(m.mark), '') FROM blob_place m JOIN blob_place p ON p.id = 3 AND p.mark = ? WHERE m.id = 2`, p.String()).Scan(&mark)
	if err == nil && mark == "" {
		mark = newName()
		err = t.Exec(`INSERT INTO blob_place (id, mark) VALUES (2, ?), (3, ?) ON CONFLICT (id) DO UPDATE SET mark = excluded.mark`, mark, p.String())
	}
	return mark, err
}

// WriteMark notes that a place has the mark, and the bytes of the database's blobs.
func WriteMark(t *store.Tx, mark string) error {
	if err := t.Exec(`DELETE FROM blob_place`); err != nil {
		return err
	}
	return t.Exec(`INSERT INTO blob_place (id, mark) VALUES (1, ?)`, mark)
}

// LeavePlace forgets the place: all blobs lie in the directory again.
func LeavePlace(t *store.Tx) error {
	if err := t.Exec(`DELETE FROM blob_place`); err != nil {
		return err
	}
	return t.Exec(`DELETE FROM blob_gone`)
}

// noteGone notes that a blob goes. It returns 0 if that was noted before.
func noteGone(t *store.Tx, name string, keep time.Duration) (noted int64, err error) {
	return t.Changed(`INSERT INTO blob_gone (name, due) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`, name, time.Now().Add(keep).Unix())
}

// NoteStrange notes blobs that List has found and no record names, and returns how many are new.
func NoteStrange(t *store.Tx, names []string) (noted int, err error) {
	for _, name := range names {
		n, err := noteGone(t, name, KeepStrange)
		if err != nil {
			return 0, err
		}
		noted += int(n)
	}
	return noted, nil
}

// Due returns some of the blobs that are to be deleted now.
func Due(t *store.Tx, limit int) (names []string, err error) {
	rows, err := t.Query(`SELECT name FROM blob_gone WHERE due <= ? ORDER BY due LIMIT ?`, time.Now().Unix(), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Forget deletes the notes of blobs that Destroy has deleted.
func Forget(t *store.Tx, names []string) error {
	for _, name := range names {
		if err := t.Exec(`DELETE FROM blob_gone WHERE name = ?`, name); err != nil {
			return err
		}
	}
	return nil
}

// ErrHeld is of a store that is held, see Hold.
var ErrHeld = errors.New("a backup reads the files")

// Destroy deletes blobs that Due has returned from the place.
func (s *Store) Destroy(ctx context.Context, names []string) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held {
		return ErrHeld
	}
	err := s.shared.place.Remove(ctx, names...)
	s.shared.note("write", err)
	return err
}

// List returns the names of the blobs in the place that this process has not made, and those with
// the suffix .part that are not whole. foreign counts the names that are no blob's.
func (s *Store) List(ctx context.Context) (names []string, foreign int, err error) {
	h := s.shared
	var all []string
	for name, err := range h.place.List(ctx) {
		if err != nil {
			h.note("read", err)
			return nil, 0, err
		}
		switch {
		case IsName(Whole(name)):
			all = append(all, name)
		case Whole(name) != Marker:
			foreign++
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range all {
		if !h.fresh[Whole(name)] {
			names = append(names, name)
		}
	}
	return names, foreign, nil
}

// Swept notes that List is not called again. known are the names in records, and found those of List.
// It returns the blobs that the place lacks.
func (s *Store) Swept(known, found map[string]bool) (missing []string) {
	h := s.shared
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range known {
		if IsName(name) && !found[name] && !h.fresh[name] {
			missing = append(missing, name)
			h.damaged[name] = true
		}
	}
	h.fresh = nil
	return missing
}

// Unreached notes for Findings why the place could not be looked for, and returns that.
func (s *Store) Unreached(err error) error {
	s.shared.note("reach", err)
	return err
}

// made notes a new blob of a shared store. from is another one with the same bytes, if there is one.
func (s *Store) made(b Blob, from string) {
	h := s.shared
	if h == nil {
		return
	}
	h.copies.add(localCopy{name: b.Name, path: s.file(b.Name), size: b.Size, from: from})
}

// freshen notes the name of a blob before anything has it.
func (s *Store) freshen(name string) {
	if h := s.shared; h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.fresh != nil {
			h.fresh[name] = true
		}
	}
}

// dropped deletes the copies of blobs, and in the place those that this process has published and no
// record has ever named.
func (s *Store) dropped(names []string, unrecorded bool) error {
	h := s.shared
	var mine []string
	for _, name := range names {
		if h.copies.drop(name) && unrecorded {
			mine = append(mine, name)
		}
		h.mu.Lock()
		delete(h.damaged, name)
		h.mu.Unlock()
	}
	if len(mine) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.place.Remove(ctx, mine...); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
