package inbound

import (
	"errors"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

// maxFetched is how many fetched files of a group are remembered: the journals know as many
// messages.
const maxFetched = 1000

// fetchedName is the name in the inbox of a file that was fetched, or empty. So a file is not
// fetched again when its message is quoted. It is only a cache.
func (s *Store) fetchedName(ref string) string {
	var name string
	_, _ = s.Found([]any{&name}, `SELECT name FROM inbound_fetched WHERE folder = ? AND ref = ?`, s.Folder, channel.Key(ref))
	return name
}

// noteFetched remembers a file that was fetched.
func (s *Store) noteFetched(ref, name string) Change {
	return func(t *state.Tx) error {
		err := t.Exec(`INSERT INTO inbound_fetched (folder, ref, name, seq)
			VALUES (?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM inbound_fetched WHERE folder = ?))
			ON CONFLICT (folder, ref) DO UPDATE SET name = excluded.name, seq = excluded.seq`, s.Folder, channel.Key(ref), name, s.Folder)
		if err == nil {
			err = t.Exec(`DELETE FROM inbound_fetched WHERE folder = ?
				AND seq <= (SELECT MAX(seq) FROM inbound_fetched WHERE folder = ?) - ?`, s.Folder, s.Folder, maxFetched)
		}
		return err
	}
}

// liesInInbox reports whether a workspace's inbox has a file of that name.
func liesInInbox(workspace, name string) bool {
	inbox, err := openInbox(workspace, false)
	if err != nil {
		return false
	}
	defer inbox.Close()
	info, err := inbox.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// RemoveFiles removes from a workspace's inbox the files whose names have the value true.
func RemoveFiles(workspace string, names map[string]bool) error {
	inbox, err := openInbox(workspace, false)
	if err != nil {
		return err
	}
	defer inbox.Close()
	var errs []error
	for name, is := range names {
		if info, err := inbox.Lstat(name); is && err == nil && info.Mode().IsRegular() {
			errs = append(errs, inbox.Remove(name))
		}
	}
	return errors.Join(errs...)
}
