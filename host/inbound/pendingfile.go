package inbound

import (
	"encoding/json"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// PendingFile is a member's file that is to be fetched from its channel, or to be transcribed. It is
// kept in the transaction of its message, and deleted in the one that records what became of the file.
type PendingFile struct {
	Message string    `json:"-"`              // the message's key
	Index   int       `json:"-"`              // of the message's files
	Chat    string    `json:"chat,omitempty"` // as in the message
	Thread  string    `json:"thread,omitempty"`
	ID      string    `json:"id,omitempty"`
	From    string    `json:"from,omitempty"`
	Call    bool      `json:"call,omitempty"` // the message calls the assistant
	Ref     string    `json:"ref"`            // the channel's
	File    File      `json:"file"`           // with a Path: it lies in the inbox, and waits to be transcribed
	Kept    time.Time `json:"kept"`
	Tries   int       `json:"tries"` // attempts begun, also those of earlier hosts

	Of *Message `json:"-"` // its message; nil: of an earlier host

	due time.Time // of the next attempt; zero: now
}

// Pending keeps files that are to be fetched or transcribed.
func (s *Store) Pending(files ...*PendingFile) Change {
	return func(t *state.Tx) error {
		for _, w := range files {
			body, err := json.Marshal(w)
			if err == nil {
				err = t.Exec(`INSERT INTO inbound_file (folder, message, position, body) VALUES (?, ?, ?, ?)
					ON CONFLICT (folder, message, position) DO UPDATE SET body = excluded.body`, s.Folder, w.Message, w.Index, string(body))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// DropPending forgets a file that is no longer to be fetched or transcribed.
func (s *Store) DropPending(w *PendingFile) Change {
	return Exec(`DELETE FROM inbound_file WHERE folder = ? AND message = ? AND position = ?`, s.Folder, w.Message, w.Index)
}
