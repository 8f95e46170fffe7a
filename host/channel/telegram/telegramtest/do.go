package telegramtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// sentFile is a file that the bot has sent, by which it can be sent again.
type sentFile struct {
	File
	kind string
}

// do carries a method out.
func (s *Server) do(method string, q *request) (result any, refusal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.Changed()
	_, there := s.chats[q.Chat]
	switch {
	case method == "getMe":
		return map[string]any{"id": Bot, "is_bot": true, "first_name": "Harbour", "username": BotName, "can_read_all_group_messages": !s.Privacy}, ""
	case method == "getWebhookInfo":
		return map[string]any{"url": s.Webhook, "pending_update_count": 0}, ""
	case method == "setWebhook":
		s.Webhook, s.secret = q.URL, q.Secret
		return true, ""
	case method == "deleteWebhook":
		s.Webhook = ""
		return true, ""
	case method == "setMyCommands":
		return true, ""
	case method == "getFile":
		if s.files[q.FileID] == nil {
			return nil, "wrong file_id or the file is temporarily unavailable"
		}
		return map[string]any{"file_id": q.FileID, "file_path": "documents/" + q.FileID}, ""
	case !there:
		return nil, "chat not found"
	case method == "getChat":
		return map[string]any{"id": q.Chat, "type": "supergroup", "title": fmt.Sprint("Chat ", -q.Chat), "permissions": s.Rights}, ""
	case method == "getChatMember" && q.User == Bot:
		return s.Member, ""
	case method == "getChatMember" && s.outside[q.User]:
		return map[string]any{"status": "left"}, ""
	case method == "getChatMember" && s.HideMembers:
		return nil, "member list is inaccessible"
	case method == "getChatMember":
		return map[string]any{"status": "member"}, ""
	case method == "sendChatAction":
		return true, ""
	case strings.HasPrefix(method, "send"):
		return s.sent(method, q)
	}
	return s.change(method, q)
}

// gone is what is said of a message that is not there.
var gone = map[string]string{"deleteMessage": "message to delete not found", "setMessageReaction": "message to react not found", "stopPoll": "message with poll to stop not found",
	"editMessageText": "message to edit not found", "editMessageCaption": "message to edit not found"}

// change is called with the lock held.
func (s *Server) change(method string, q *request) (any, string) {
	if method == "deleteMessages" {
		for _, m := range s.chats[q.Chat] {
			m.IDs = slices.DeleteFunc(m.IDs, func(id int64) bool { return slices.Contains(q.Messages, id) })
			m.Gone = m.Gone || len(m.IDs) == 0
		}
		return true, ""
	}
	i := slices.IndexFunc(s.chats[q.Chat], func(m *Message) bool { return slices.Contains(m.IDs, q.Message) && !m.Gone })
	if i < 0 {
		return nil, gone[method]
	}
	m := s.chats[q.Chat][i]
	switch method {
	case "deleteMessage":
		m.IDs = slices.DeleteFunc(m.IDs, func(id int64) bool { return id == q.Message })
		m.Gone = len(m.IDs) == 0
	case "setMessageReaction":
		m.Reaction = ""
		for _, one := range q.Reaction {
			m.Reaction += one.Emoji
		}
	case "stopPoll":
		if m.Closed {
			return nil, "poll has already been closed"
		}
		m.Closed = true
	default:
		text, entities := q.Text+q.Caption, slices.Concat(q.TextEntities, q.caption.Entities)
		if text == m.Text && slices.Equal(entities, m.Entities) {
			return nil, "message is not modified"
		}
		if why := wrong(text, entities); why != "" {
			return nil, why
		}
		m.Text, m.Entities = text, entities
		m.Edits++
	}
	return true, ""
}

// wrong is why a text with its entities is refused.
func wrong(text string, all []entity) string {
	n := len(utf16.Encode([]rune(text)))
	for _, e := range all {
		if e.Offset < 0 || e.Length <= 0 || e.Offset+e.Length > n || (e.Type == "text_link") != (e.URL != "") {
			return fmt.Sprintf("wrong entity %+v", e)
		}
	}
	return ""
}

// sent is called with the lock held.
func (s *Server) sent(method string, q *request) (any, string) {
	m := &Message{Thread: q.Thread, ReplyTo: q.Reply.Message, Method: method, Text: q.Text + q.Caption, Entities: slices.Concat(q.TextEntities, q.caption.Entities)}
	items, parts := q.named(method), maps.Clone(q.parts)
	for _, one := range items {
		kind, f, why := s.fileOf(one, parts)
		if why != "" {
			return nil, why
		}
		m.Files, m.Kinds = append(m.Files, f), append(m.Kinds, kind)
		if method == "sendMediaGroup" && one.Caption != "" {
			if m.Text != "" {
				return nil, "two captions" // which Telegram takes, and shows below none
			}
			m.Text, m.Entities = one.Caption, one.Entities
		}
	}
	if why := s.refuses(method, q, m, len(parts)); why != "" {
		return nil, why
	}
	var all []any
	for i := range max(1, len(items)) {
		s.last++
		m.IDs = append(m.IDs, s.last)
		one := map[string]any{"message_id": s.last, "date": time.Now().Unix(), "chat": map[string]any{"id": q.Chat, "type": "supergroup"}}
		if len(items) > 0 {
			id := fmt.Sprintf("sent-%d", s.last)
			s.sentIDs[id] = sentFile{m.Files[i], m.Kinds[i]}
			of := map[string]any{"file_id": id, "file_unique_id": id, "file_size": m.Files[i].Size, "file_name": m.Files[i].Name}
			one[m.Kinds[i]] = of
			if m.Kinds[i] == "photo" {
				one["photo"] = []any{of}
			}
		}
		all = append(all, one)
	}
	m.ID = m.IDs[0]
	if method == "sendPoll" {
		m.Text, m.Several = q.Question, q.Several
		all[0].(map[string]any)["poll"] = map[string]any{"id": fmt.Sprint("poll-", m.ID), "question": q.Question}
	}
	s.chats[q.Chat] = append(s.chats[q.Chat], m)
	if method == "sendMediaGroup" {
		return all, ""
	}
	return all[0], ""
}

// fileOf is a file that came with the request, which it takes from parts, or that was
// sent before.
func (s *Server) fileOf(one item, parts map[string]File) (kind string, f File, why string) {
	if name, attached := strings.CutPrefix(one.File, "attach://"); attached {
		f, there := parts[name]
		if delete(parts, name); !there {
			return "", f, "no part " + name
		}
		return one.Type, f, ""
	}
	before, there := s.sentIDs[one.File]
	switch {
	case !there:
		return "", f, "wrong file identifier/HTTP URL specified"
	case before.kind != one.Type:
		return "", f, fmt.Sprintf("can't use file of type %s as %s", before.kind, one.Type)
	}
	return one.Type, before.File, ""
}

// albums are the kinds that may stand in an album together.
var albums = map[string]string{"photo": "seen", "video": "seen", "document": "document", "audio": "audio"}

// refuses is why Telegram does not take a message; unused are the parts that no
// parameter names.
func (s *Server) refuses(method string, q *request, m *Message, unused int) string {
	most := 4096
	if len(m.Files) > 0 {
		most = 1024
	}
	switch {
	case unused > 0:
		return "a file that nothing names"
	case method == "sendMediaGroup" && (len(m.Files) < 2 || len(m.Files) > 10):
		return "wrong number of media"
	case method == "sendMediaGroup" && slices.ContainsFunc(m.Kinds, func(k string) bool { return albums[k] == "" || albums[k] != albums[m.Kinds[0]] }):
		return "these may not be mixed"
	case method == "sendPoll":
		return s.refusesPoll(q, m)
	case len(m.Files) == 0 && (method != "sendMessage" || m.Text == ""):
		return "message text is empty"
	case len(utf16.Encode([]rune(m.Text))) > most:
		return "message is too long"
	}
	return wrong(m.Text, m.Entities)
}

func (s *Server) refusesPoll(q *request, m *Message) string {
	for _, o := range q.Options {
		if m.Choices = append(m.Choices, o.Text); o.Text == "" || len(utf16.Encode([]rune(o.Text))) > 100 {
			return "wrong poll option"
		}
	}
	switch {
	case q.Question == "" || len(utf16.Encode([]rune(q.Question))) > 300 || len(q.Options) < 2 || len(q.Options) > 12:
		return "wrong poll"
	case q.Anonymous == nil || *q.Anonymous:
		return "nobody would see who voted"
	}
	return ""
}
