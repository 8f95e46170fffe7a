package assistant

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// pendingDir is the directory of wants within a group's directory.
const pendingDir = "wanted"

// pendingFile is a member's file that its channel still has. It is on disk as soon as its message
// is, until the file is in the inbox or the assistant was told that it never will be.
type pendingFile struct {
	Message string    `json:"message"`        // the record's key
	Index   int       `json:"index"`          // of the record's files
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

// noticeKey is the key of the notice that ends the want.
func (w *pendingFile) noticeKey() string { return key("file", w.Message, fmt.Sprint(w.Index)) }

func (w *pendingFile) fileName() string {
	return filepath.Join(pendingDir, fmt.Sprintf("%s-%d.json", w.Message, w.Index))
}

// savePending writes a want.
func (s *store) savePending(w *pendingFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := os.Mkdir(s.path(pendingDir), 0o700)
	if err == nil {
		err = safefs.SyncDir(s.dir)
	}
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = s.save(w.fileName(), w)
	}
	if err != nil {
		return fmt.Errorf("keep a file's reference: %w", err)
	}
	return nil
}

// dropPending deletes a want that has ended.
func (s *store) dropPending(w *pendingFile) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(s.path(w.fileName())); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget a file's reference: %w", err)
	}
	return safefs.SyncDir(s.path(pendingDir))
}

// wants loads the wants of earlier hosts, in any order. A want that cannot be read is put
// aside.
func (s *store) pendingFiles() ([]*pendingFile, error) {
	if fi, err := os.Lstat(s.path(pendingDir)); err == nil && !fi.IsDir() {
		return nil, fmt.Errorf("%s is a link or no directory: move it away", s.path(pendingDir))
	}
	entries, err := safefs.ReadDir(s.path(pendingDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*pendingFile
	for _, e := range entries {
		name := filepath.Join(pendingDir, e.Name())
		switch {
		case !e.Type().IsRegular():
		case safefs.IsTemp(e.Name()):
			os.Remove(s.path(name))
		case pendingForm.MatchString(e.Name()):
			w := &pendingFile{}
			if s.load(name, w) != nil || w.fileName() != name {
				os.Rename(s.path(name), s.path(name+".broken"))
				continue
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// update saves a record that has changed, unless it has been finished meanwhile.
func (s *store) update(r *record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := os.Lstat(s.path(r.name)); err != nil {
		return nil //nolint:nilerr // it is not kept any more
	}
	return s.save(r.name, r)
}
