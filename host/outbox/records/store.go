package records

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// stored is the JSON in the part table of a part that is more than a text or files.
type stored struct {
	Act      *Act        `json:"act,omitempty"`
	Question *Question   `json:"question,omitempty"`
	Link     *storedLink `json:"link,omitempty"`
	Host     bool        `json:"host,omitempty"`
}

func (p *Part) actText() (string, error) {
	if p.Plain() && p.Link == nil && !p.Host {
		return "", nil
	}
	b, err := json.Marshal(stored{p.Act, p.Question, p.Link.stored(), p.Host})
	return string(b), err
}

func (p *Part) setAct(text string) error {
	if text == "" {
		return nil
	}
	var a stored
	err := json.Unmarshal([]byte(text), &a)
	p.Act, p.Question, p.Link, p.Host = a.Act, a.Question, a.Link.link(), a.Host
	return err
}

// openStates are the states of an open part, for SQL.
const openStates = `('queued', 'sending', 'pending')`

// unendedStates are those of a part that may still be sent.
const unendedStates = `('queued', 'sending', 'pending', 'waiting')`

// waits is the condition of a delivery that waits for an approval, for SQL.
const waits = `id IN (SELECT delivery FROM ask WHERE told = 0 AND answer = '' AND policy = 'approval')`

func scanIDs(rows *sql.Rows, err error) (ids []int64, _ error) {
	err = state.Each(rows, err, func() error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, ofDatabase("read deliveries", err)
}

// scanNames reads the names of parts' blobs.
func scanNames(rows *sql.Rows, err error) (names []string, _ error) {
	err = state.Each(rows, err, func() error {
		var some string
		err := rows.Scan(&some)
		names = append(names, strings.Fields(some)...)
		return err
	})
	return names, err
}

// storedFile is the JSON of a File in the part table.
type storedFile struct {
	media.Info
	SHA256 string   `json:"sha256"`
	Names  []string `json:"names,omitempty"`
}

// encodeFiles returns the JSON of files. Only the names of those that wait for an approval are judged again.
func encodeFiles(files []File, waits bool) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	stored := make([]storedFile, len(files))
	for i, f := range files {
		stored[i] = storedFile{Info: f.Info, SHA256: f.SHA256}
		if waits {
			stored[i].Names = f.Names
		}
	}
	b, err := json.Marshal(stored)
	return string(b), err
}

func decodeFiles(files, blobs string) ([]File, error) {
	if files == "" {
		return nil, nil
	}
	var stored []storedFile
	if err := json.Unmarshal([]byte(files), &stored); err != nil {
		return nil, err
	}
	names := strings.Fields(blobs)
	all := make([]File, len(stored))
	for i, s := range stored {
		all[i] = File{Info: s.Info, SHA256: s.SHA256, Names: s.Names}
		if len(names) == len(all) {
			all[i].Blob = names[i]
		}
	}
	return all, nil
}

// bit is a truth as the records have it.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func nano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// storedLink is the JSON of a Link in the part table.
type storedLink struct {
	ID      string     `json:"id"`
	Expires int64      `json:"expires"` // Unix seconds
	File    storedFile `json:"file"`
}

func (l *Link) stored() *storedLink {
	if l == nil {
		return nil
	}
	return &storedLink{l.ID, l.Expires.Unix(), storedFile{l.File.Info, l.File.SHA256, l.File.Names}}
}

func (s *storedLink) link() *Link {
	if s == nil {
		return nil
	}
	return &Link{ID: s.ID, Expires: time.Unix(s.Expires, 0), File: File{Info: s.File.Info, SHA256: s.File.SHA256, Names: s.File.Names}}
}

// ofDatabase adds words that people understand to an error of the database.
func ofDatabase(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, store.Words(err))
}
