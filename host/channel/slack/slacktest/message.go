package slacktest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Message is a message of a channel.
type Message struct {
	TS, Thread string // Thread is the parent's TS; "" outside threads
	User       string
	BotID      string // of the bot's
	Text       string
	Files      []File
	Metadata   *Metadata
	Blocks     []Block
	Reactions  map[string][]string // who reacted, by the reaction's name
	Edited     bool
	Tombstone  bool // was deleted, and has replies

	client string
	raw    map[string]json.RawMessage // as Dispatch got it
}

// Metadata is what the app attached to its message.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// Messages are the messages of a channel and all its threads, the oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.must(channel).messages {
		one := *m
		one.Files, one.Reactions = slices.Clone(m.Files), maps.Clone(m.Reactions)
		all = append(all, one)
	}
	return all
}

// FromBot are the messages that the bot posted, the oldest first.
func (s *Server) FromBot(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.BotID == "" })
}

// WaitFor waits for n messages of the bot, and returns all of them.
func (s *Server) WaitFor(t testing.TB, channel string, n int) []Message {
	t.Helper()
	s.Wait(t, "messages of the bot", func() bool { return len(s.FromBot(channel)) >= n })
	return s.FromBot(channel)
}

// Post posts a member's message, and returns its ts. A mention of the bot in the
// text is <@BotUser>.
func (s *Server) Post(channel, user, text string) (ts string) {
	return s.PostInThread(channel, "", user, text)
}

// PostInThread posts a member's message into the thread of a parent.
func (s *Server) PostInThread(channel, thread, user, text string) (ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.post(s.must(channel), &Message{Thread: thread, User: user, Text: text}).TS
}

// Upload posts a member's message with a file, and returns its ts. A thread of ""
// is the channel itself.
func (s *Server) Upload(channel, thread, user, text, name string, data []byte) (ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.addFile(user, name, data)
	m := s.post(s.must(channel), &Message{Thread: thread, User: user, Text: text, Files: []File{f.File}})
	f.addShare(s.must(channel), m)
	return m.TS
}

// Edit gives a member's message another text.
func (s *Server) Edit(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(channel)
	s.edit(ch, ch.message(ts), text)
}

// Delete deletes a message, or leaves a tombstone if it has replies.
func (s *Server) Delete(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(channel)
	s.remove(ch, ch.message(ts))
}

// Mention is how a text mentions a member, or the bot.
func Mention(user string) string { return "<@" + user + ">" }

// post shows a message, in the channel itself if its parent does not exist, and
// tells the app.
func (s *Server) post(ch *channel, m *Message) *Message {
	m.TS = s.now()
	if parent := ch.message(m.Thread); m.Thread == "" || parent == nil || parent.Thread != "" && parent.Thread != parent.TS {
		m.Thread = ""
	} else {
		parent.Thread = parent.TS
	}
	if m.BotID == "" {
		m.client = s.newID("client-")
	}
	ch.messages = append(ch.messages, m)
	event := m.wire()
	maps.Copy(event, object{"channel": ch.id, "channel_type": ch.kind, "event_ts": m.TS})
	if len(m.Files) > 0 {
		event["subtype"] = "file_share"
	}
	s.tell(ch, event)
	if m.BotID == "" && ch.kind != Direct && strings.Contains(m.Text, Mention(s.BotUser)) {
		mention := maps.Clone(event)
		delete(mention, "channel_type")
		delete(mention, "subtype")
		mention["type"] = "app_mention"
		s.tell(ch, mention)
	}
	s.Changed()
	return m
}

func (s *Server) edit(ch *channel, m *Message, text string) {
	before := m.wire()
	m.Text, m.Edited = text, true
	now := m.wire()
	now["edited"] = object{"user": m.User, "ts": s.now()}
	s.hidden(ch, object{"subtype": "message_changed", "message": now, "previous_message": before})
}

func (s *Server) remove(ch *channel, m *Message) {
	before := m.wire()
	if m.Thread == m.TS && slices.ContainsFunc(ch.messages, func(r *Message) bool { return r.Thread == m.TS && r != m }) {
		*m = Message{TS: m.TS, Thread: m.TS, User: "USLACKBOT", Text: "This message was deleted.", Tombstone: true}
		s.hidden(ch, object{"subtype": "message_changed", "message": m.wire(), "previous_message": before})
		return
	}
	ch.messages = slices.DeleteFunc(ch.messages, func(o *Message) bool { return o == m })
	s.hidden(ch, object{"subtype": "message_deleted", "deleted_ts": m.TS, "previous_message": before})
}

func (s *Server) react(ch *channel, m *Message, user, name string) {
	if m.Reactions == nil {
		m.Reactions = map[string][]string{}
	}
	m.Reactions[name] = append(m.Reactions[name], user)
	s.tell(ch, object{
		"type": "reaction_added", "user": user, "reaction": name, "item_user": m.User, "event_ts": s.now(),
		"item": object{"type": "message", "channel": ch.id, "ts": m.TS},
	})
	s.Changed()
}

// hidden tells of a change, which has a ts but is no message.
func (s *Server) hidden(ch *channel, event object) {
	ts := s.now()
	maps.Copy(event, object{"type": "message", "hidden": true, "channel": ch.id, "channel_type": ch.kind, "ts": ts, "event_ts": ts})
	s.tell(ch, event)
	s.Changed()
}

// wire is a message as Slack writes it, without its metadata.
func (m *Message) wire() object {
	o := object{}
	for name, value := range m.raw {
		o[name] = value
	}
	if m.raw != nil {
		return o
	}
	o = object{"type": "message", "user": m.User, "text": m.Text, "ts": m.TS, "team": "T0LOOPBACK"}
	if m.Thread != "" {
		o["thread_ts"] = m.Thread
	}
	if m.BotID != "" {
		o["bot_id"], o["app_id"] = m.BotID, "A0LOOPBACK"
	}
	if m.client != "" {
		o["client_msg_id"] = m.client
	}
	if len(m.Blocks) > 0 {
		o["blocks"] = m.Blocks
	}
	if m.Tombstone {
		o["subtype"], o["hidden"] = "tombstone", true
	}
	var files []object
	for _, f := range m.Files {
		files = append(files, f.wire())
	}
	if len(files) > 0 {
		o["files"], o["upload"] = files, false
	}
	return o
}

// read is a message as history and replies show it.
func (m *Message) read(ch *channel, metadata bool) object {
	o := m.wire()
	if m.Metadata != nil && metadata {
		o["metadata"] = m.Metadata
	}
	if m.Thread == m.TS {
		replies := 0
		for _, r := range ch.messages {
			if r.Thread == m.TS && r != m {
				replies++
				o["latest_reply"] = r.TS
			}
		}
		o["reply_count"] = replies
	}
	var reactions []object
	for _, name := range slices.Sorted(maps.Keys(m.Reactions)) {
		reactions = append(reactions, object{"name": name, "users": m.Reactions[name], "count": len(m.Reactions[name])})
	}
	if len(reactions) > 0 {
		o["reactions"] = reactions
	}
	return o
}

func readMetadata(text string) (*Metadata, error) {
	if text == "" {
		return nil, nil
	}
	var m Metadata
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.EventType == "" || m.EventPayload == nil {
		return nil, refusal("invalid_metadata_format")
	}
	if len(text) > 16384 {
		return nil, refusal("metadata_too_large")
	}
	return &m, nil
}
