package discordtest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Says are what stands in a member's message beside its text.
type Says struct {
	ReplyTo  string
	Mentions []string // users
	Name     string   // of a file; empty: there is none
	MIME     string
	Data     []byte
	Voice    bool   // the file is a voice message
	URL      string // where the file is said to be; empty: on the file server
}

// Post has a member write into a channel, a thread or a direct message, and returns
// the message's id.
func (s *Server) Post(channel, user, text string, says Says) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &Message{Channel: channel, Author: user, Text: text, ReplyTo: says.ReplyTo, Mentions: says.Mentions}
	if says.Name != "" {
		sum := sha256.Sum256(says.Data)
		f := File{MIME: says.MIME, Size: int64(len(says.Data)), SHA256: hex.EncodeToString(sum[:])}
		f.Name, f.Title = named(says.Name)
		s.keep(&f, channel, says.Data)
		if m.Voice = says.Voice; m.Voice {
			f.Seconds, f.Wave = 1, []byte{0, 255}
		}
		f.URL = cmp.Or(says.URL, f.URL)
		m.Files = []File{f}
	}
	return s.add(s.must(channel), m).ID
}

// Edit has a member edit a message.
func (s *Server) Edit(channel, id, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.must(channel).message(id); m != nil {
		m.Text, m.Edits = text, m.Edits+1
		s.dispatch("MESSAGE_UPDATE", s.object(m, false))
	}
}

// Delete has a member delete a message.
func (s *Server) Delete(channel, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.must(channel).message(id); m != nil {
		m.Gone = true
	}
	s.dispatch("MESSAGE_DELETE", object{"id": id, "channel_id": channel, "guild_id": GuildID})
}

// React has a member react to a message, which may be gone, or take that back.
func (s *Server) React(channel, id, user, emoji string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.must(channel).message(id)
	if m == nil {
		m = &Message{ID: id, Channel: channel}
	}
	s.setReaction(m, user, emoji, on)
}

func (s *Server) setReaction(m *Message, user, emoji string, on bool) {
	kind, event := "MESSAGE_REACTION_REMOVE", object{"user_id": user, "channel_id": m.Channel, "message_id": m.ID, "guild_id": GuildID, "emoji": object{"id": nil, "name": emoji}}
	users := slices.DeleteFunc(m.Reactions[emoji], func(u string) bool { return u == user })
	if on {
		users = append(users, user)
		kind, event["member"] = "MESSAGE_REACTION_ADD", s.memberObject(user)
	}
	if m.Reactions == nil {
		m.Reactions = map[string][]string{}
	}
	if m.Reactions[emoji] = users; len(users) == 0 {
		delete(m.Reactions, emoji)
	}
	s.dispatch(kind, event)
}

// Join and Leave have a member join the server and leave it.
func (s *Server) Join(user string) { s.moved("GUILD_MEMBER_ADD", user) }

// Leave has a member leave the server.
func (s *Server) Leave(user string) { s.moved("GUILD_MEMBER_REMOVE", user) }

func (s *Server) moved(kind, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.memberObject(user)
	o["guild_id"] = GuildID
	s.dispatch(kind, o)
}

// Promote makes a member an admin.
func (s *Server) Promote(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.users {
		if u.id == user {
			u.roles = append(u.roles, "1009")
		}
	}
}

// Invalidate tells what the coming greetings are answered: that the session is none, and
// whether it can be resumed.
func (s *Server) Invalidate(resumable ...bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalid = append(s.invalid, resumable...)
}

// Renew gives all files of members new addresses; the old ones end.
func (s *Server) Renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.channels {
		for _, m := range r.messages {
			for i := range m.Files {
				f := &m.Files[i]
				old := strings.TrimPrefix(f.URL, s.srv.URL)
				f.URL += "-new"
				s.files[old+"-new"] = s.files[old]
				delete(s.files, old)
			}
		}
	}
}
