package turns

import (
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// maxFetched is how many fetched files of a group are remembered: the journals know as many
// messages.
const maxFetched = 1000

// fetchedName is the name in the inbox of a file that was fetched, or empty. So a file is not
// fetched again when its message is quoted. It is only a cache.
func (s *store) fetchedName(ref string) string {
	var name string
	_, _ = s.found([]any{&name}, `SELECT name FROM assistant_fetched WHERE folder = ? AND ref = ?`, s.folder, ref)
	return name
}

// noteFetched remembers a file that was fetched.
func (s *store) noteFetched(ref, name string) change {
	return func(t *state.Tx) error {
		_, err := t.Exec(`INSERT INTO assistant_fetched (folder, ref, name, seq)
			VALUES (?, ?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM assistant_fetched WHERE folder = ?))
			ON CONFLICT (folder, ref) DO UPDATE SET name = excluded.name, seq = excluded.seq`, s.folder, ref, name, s.folder)
		if err == nil {
			_, err = t.Exec(`DELETE FROM assistant_fetched WHERE folder = ?
				AND seq <= (SELECT MAX(seq) FROM assistant_fetched WHERE folder = ?) - ?`, s.folder, s.folder, maxFetched)
		}
		return err
	}
}

// liesInInbox reports whether a workspace's inbox has a file of that name.
func liesInInbox(workspace, name string) bool {
	home, err := openDir(workspace)
	if err != nil {
		return false
	}
	defer home.Close()
	inbox, err := safefs.OpenDir(home, inboxDir)
	if err != nil {
		return false
	}
	defer inbox.Close()
	info, err := inbox.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}
