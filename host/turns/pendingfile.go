package turns

import (
	"encoding/json"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// pendingFile is a member's file that its channel still has. It is kept as soon as its message
// is, until the file is in the inbox or the assistant was told that it never will be.
type pendingFile struct {
	Message string    `json:"-"`              // the record's key
	Index   int       `json:"-"`              // of the record's files
	Chat    string    `json:"chat,omitempty"` // as in the record
	Thread  string    `json:"thread,omitempty"`
	ID      string    `json:"id,omitempty"`
	From    string    `json:"from,omitempty"`
	Call    bool      `json:"call,omitempty"` // the message calls the assistant
	Ref     string    `json:"ref"`            // the channel's
	File    file      `json:"file"`           // with a Path: it lies in the inbox, and waits to be transcribed
	Kept    time.Time `json:"kept"`
	Tries   int       `json:"tries"` // attempts begun, also those of earlier hosts

	due time.Time // of the next attempt; zero: now
	of  *record   // its message, whose Kind Manager.mu guards; nil: of an earlier host
}

// pending keeps files that are to be fetched.
func (s *store) pending(files ...*pendingFile) change {
	return func(t *state.Tx) error {
		for _, w := range files {
			body, err := json.Marshal(w)
			if err == nil {
				_, err = t.Exec(`INSERT INTO assistant_file (folder, message, position, body) VALUES (?, ?, ?, ?)
					ON CONFLICT (folder, message, position) DO UPDATE SET body = excluded.body`, s.folder, w.Message, w.Index, string(body))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// dropPending forgets a file that nobody fetches any more.
func (s *store) dropPending(w *pendingFile) change {
	return exec(`DELETE FROM assistant_file WHERE folder = ? AND message = ? AND position = ?`, s.folder, w.Message, w.Index)
}
