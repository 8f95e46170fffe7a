package inbound

import "github.com/longshore-bridge/longshore/host/channel"

// maxRefused is how many refusals of a chat are remembered.
const maxRefused = 500

// WasRefused reports whether a member was told of a refusal before. It returns false if the state
// cannot be read: then the member is told once more.
func (s *Store) WasRefused(what string) bool {
	var one int
	known, _ := s.Found([]any{&one}, `SELECT 1 FROM inbound_refusal WHERE folder = ? AND what = ?`, s.Folder, channel.Key(what))
	return known
}

// Refused remembers that a member was told of a refusal.
func (s *Store) Refused(what string) error {
	return s.Do("remember a refusal",
		Exec(`INSERT INTO inbound_refusal (folder, what, seq) VALUES (?, ?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM inbound_refusal WHERE folder = ?))
			ON CONFLICT (folder, what) DO NOTHING`, s.Folder, channel.Key(what), s.Folder),
		Exec(`DELETE FROM inbound_refusal WHERE folder = ? AND seq <= (SELECT MAX(seq) FROM inbound_refusal WHERE folder = ?) - ?`, s.Folder, s.Folder, maxRefused))
}
