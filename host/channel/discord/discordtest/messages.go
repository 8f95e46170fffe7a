package discordtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

func (s *Server) getChannel(c *call) (any, error) {
	r := s.room(c.PathValue("channel"))
	if r == nil {
		return nil, unknownChannel
	}
	return r.object(), nil
}

// find is the message that a request names.
func (s *Server) find(c *call) (*room, *Message, error) {
	r := s.room(c.PathValue("channel"))
	if r == nil {
		return nil, nil, unknownChannel
	}
	m := r.message(c.PathValue("message"))
	if m == nil {
		return r, nil, unknownMessage
	}
	return r, m, nil
}

func (s *Server) getMessage(c *call) (any, error) {
	_, m, err := s.find(c)
	if err != nil {
		return nil, err
	}
	return s.object(m, false), nil
}

func (s *Server) getMessages(c *call) (any, error) {
	r := s.room(c.PathValue("channel"))
	if r == nil {
		return nil, unknownChannel
	}
	after, err := strconv.ParseInt(c.URL.Query().Get("after"), 10, 64)
	limit, errLimit := strconv.Atoi(c.URL.Query().Get("limit"))
	if err != nil || errLimit != nil || limit < 1 || limit > 100 {
		return nil, invalid("after and limit")
	}
	page := []object{}
	for _, m := range r.messages {
		if id, _ := strconv.ParseInt(m.ID, 10, 64); id > after && !m.Gone && len(page) < limit {
			page = append(page, s.object(m, false))
		}
	}
	slices.Reverse(page) // the newest comes first
	return page, nil
}

const voiceFlag = 1 << 13

// create is Create Message.
func (s *Server) create(c *call) (any, error) {
	var in struct {
		Content string `json:"content"`
		Nonce   string `json:"nonce"`
		Enforce bool   `json:"enforce_nonce"`
		Allowed *struct {
			Parse []string `json:"parse"`
			Reply bool     `json:"replied_user"`
		} `json:"allowed_mentions"`
		Refers struct {
			ID   string `json:"message_id"`
			Fail *bool  `json:"fail_if_not_exists"`
		} `json:"message_reference"`
		Files []struct {
			ID   int    `json:"id"`
			Name string `json:"filename"`
			Alt  string `json:"description"`

			Seconds float64 `json:"duration_secs"`
			Wave    []byte  `json:"waveform"`
		} `json:"attachments"`
		Flags int   `json:"flags"`
		Rows  []Row `json:"components"`
	}
	if err := decode(c.body, &in); err != nil {
		return nil, err
	}
	r := s.room(c.PathValue("channel"))
	switch {
	case r == nil:
		return nil, unknownChannel
	case in.Content == "" && len(c.file) == 0:
		return nil, refusal{400, 50006, "Cannot send an empty message"}
	case utf8.RuneCountInString(in.Content) > 2000 || len(in.Nonce) > 25:
		return nil, invalid("content or nonce")
	case len(c.file) > 10:
		return nil, refusal{400, 30015, "Maximum number of attachments in a message reached (10)"}
	case in.Allowed == nil || in.Allowed.Parse == nil || len(in.Allowed.Parse) > 0:
		return nil, invalid("the message may mention people")
	case len(in.Files) != len(c.file):
		return nil, invalid("attachments are not the files")
	}
	if err := checkRows(in.Rows); err != nil {
		return nil, err
	}
	for i, f := range in.Files {
		if f.ID != i || f.Name != c.file[i].Name {
			return nil, invalid(fmt.Sprintf("attachment %d is called %q and %q", i, f.Name, c.file[i].Name))
		}
		if c.file[i].Seconds, c.file[i].Wave = f.Seconds, f.Wave; in.Flags == 0 && (f.Seconds != 0 || len(f.Wave) > 0) {
			return nil, invalid("a file that is no voice message has a waveform")
		}
		if c.file[i].Alt = f.Alt; c.file[i].Size > []int64{10 << 20, 10 << 20, 50 << 20, 100 << 20}[s.Tier] {
			return nil, refusal{413, 40005, "Request entity too large"}
		}
	}
	if err := s.checkVoice(in.Flags, in.Content, c.file); err != nil {
		return nil, err
	}
	if old := s.nonces[r.id+in.Nonce]; old != nil && in.Enforce && in.Nonce != "" && s.now().Sub(s.timeOf(old)) < s.NonceFor {
		return s.object(old, true), nil
	}
	m := &Message{Channel: r.id, Author: s.BotID, Text: in.Content, Nonce: in.Nonce, Files: c.file, Rows: in.Rows, Voice: in.Flags == voiceFlag}
	if r.message(in.Refers.ID) != nil {
		m.ReplyTo = in.Refers.ID
	} else if in.Refers.ID != "" && (in.Refers.Fail == nil || *in.Refers.Fail) {
		return nil, unknownMessage
	}
	s.nonces[r.id+in.Nonce] = s.add(r, m)
	return s.object(m, true), nil
}

// checkVoice refuses what is no voice message although its flags say so.
func (s *Server) checkVoice(flags int, text string, files []File) error {
	switch {
	case flags == 0:
		return nil
	case flags != voiceFlag:
		return invalid("flags")
	case text != "":
		return refusal{400, 50159, "Voice messages do not support additional content"}
	case len(files) != 1 || files[0].MIME != "audio/ogg" || !files[0].Opus:
		return refusal{400, 50160, "Voice messages must have a single audio attachment"}
	case files[0].Seconds <= 0 || len(files[0].Wave) == 0 || len(files[0].Wave) > 256:
		return refusal{400, 50161, "Voice messages must have supporting metadata"}
	case s.NoVoice:
		return refusal{403, 50173, "Cannot send voice messages in this channel"}
	}
	return nil
}

func (s *Server) timeOf(m *Message) time.Time {
	id, _ := strconv.ParseInt(m.ID, 10, 64)
	return time.UnixMilli(id>>22 + 1420070400000)
}

func (s *Server) edit(c *call) (any, error) {
	var in struct {
		Content string `json:"content"`
		Allowed struct {
			Parse []string `json:"parse"`
			Reply bool     `json:"replied_user"`
		} `json:"allowed_mentions"`
		Rows *[]Row `json:"components"`
	}
	if err := decode(c.body, &in); err != nil {
		return nil, err
	}
	_, m, err := s.find(c)
	switch {
	case err != nil:
		return nil, err
	case m.Author != s.BotID:
		return nil, refusal{403, 50005, "Cannot edit a message authored by another user"}
	case m.Voice:
		return nil, refusal{400, 50162, "Voice messages cannot be edited"}
	}
	if in.Rows != nil {
		if err := checkRows(*in.Rows); err != nil {
			return nil, err
		}
		m.Rows = *in.Rows
	}
	if utf8.RuneCountInString(in.Content) > 2000 {
		return nil, invalid("content")
	}
	if m.Text != in.Content {
		m.Text, m.Edits = in.Content, m.Edits+1
	}
	s.dispatch("MESSAGE_UPDATE", s.object(m, false))
	return s.object(m, false), nil
}

func (s *Server) remove(c *call) (any, error) {
	r, m, err := s.find(c)
	if err != nil {
		return nil, err
	}
	m.Gone = true
	s.dispatch("MESSAGE_DELETE", object{"id": m.ID, "channel_id": r.id, "guild_id": GuildID})
	return nil, nil
}

func (s *Server) react(c *call) (any, error) {
	_, m, err := s.find(c)
	if err == nil {
		s.setReaction(m, s.BotID, c.PathValue("emoji"), true)
	}
	return nil, err
}

func (s *Server) unreact(c *call) (any, error) {
	_, m, err := s.find(c)
	if err == nil {
		s.setReaction(m, s.BotID, c.PathValue("emoji"), false)
	}
	return nil, err
}

func (s *Server) typing(c *call) (any, error) {
	if s.room(c.PathValue("channel")) == nil {
		return nil, unknownChannel
	}
	return nil, nil
}

func (s *Server) member(c *call) (any, error) {
	for _, u := range append(s.users, &user{id: s.BotID}) {
		if u.id == c.PathValue("user") {
			return s.memberObject(u.id), nil
		}
	}
	return nil, refusal{404, 10007, "Unknown Member"}
}

func (s *Server) memberObject(id string) object {
	roles := []string{}
	for _, u := range s.users {
		if u.id == id {
			roles = append(roles, u.roles...)
		}
	}
	return object{"nick": nil, "roles": roles, "user": s.user(id), "joined_at": "2026-01-01T00:00:00+00:00"}
}

// object is a message as the API shows it.
func (s *Server) object(m *Message, nonce bool) object {
	at := s.timeOf(m).UTC().Format("2006-01-02T15:04:05.000000+00:00")
	files, mentions := []object{}, []object{}
	for _, f := range m.Files {
		o := f.object()
		if m.Voice {
			o["duration_secs"], o["waveform"] = f.Seconds, f.Wave
		}
		files = append(files, o)
	}
	for _, id := range m.Mentions {
		mentions = append(mentions, s.user(id))
	}
	reactions := []object{}
	for emoji, users := range m.Reactions {
		reactions = append(reactions, object{"count": len(users), "me": slices.Contains(users, s.BotID), "emoji": object{"id": nil, "name": emoji}})
	}
	o := object{
		"id": m.ID, "channel_id": m.Channel, "type": 0, "content": m.Text, "author": s.user(m.Author), "timestamp": at, "edited_timestamp": nil, "tts": false,
		"mention_everyone": false, "mentions": mentions, "mention_roles": []string{}, "attachments": files, "embeds": []object{}, "pinned": false, "reactions": reactions, "components": rows(m.Rows),
	}
	if m.Voice {
		o["flags"] = voiceFlag
	}
	if m.Edits > 0 {
		o["edited_timestamp"] = at
	}
	if nonce {
		o["nonce"] = m.Nonce
	}
	if m.ReplyTo != "" {
		o["type"], o["message_reference"] = 19, object{"message_id": m.ReplyTo, "channel_id": m.Channel}
		o["referenced_message"] = nil
		if parent := s.must(m.Channel).message(m.ReplyTo); parent != nil {
			o["referenced_message"] = s.object(&Message{ID: parent.ID, Channel: parent.Channel, Author: parent.Author, Text: parent.Text, Files: parent.Files, raw: parent.raw}, false)
		}
	}
	maps.Copy(o, m.raw)
	return o
}

// add shows a message to all.
func (s *Server) add(r *room, m *Message) *Message {
	m.ID = s.messageID()
	r.messages = append(r.messages, m)
	o := s.object(m, true)
	if r.kind != typeDirect {
		o["guild_id"], o["member"] = GuildID, s.memberObject(m.Author)
	}
	s.dispatch("MESSAGE_CREATE", o)
	s.Changed()
	return m
}
