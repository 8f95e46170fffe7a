package slacktest

import (
	"regexp"
	"slices"
	"unicode/utf8"
)

// textMax is in characters. Slack cuts longer texts of chat.postMessage off; here
// they are refused, since a program that sends them has lost count.
const (
	textMax   = 40_000
	updateMax = 4_000 // of chat.update
)

var timeStamp = regexp.MustCompile(`^\d{10}\.\d{6}$`)

// writable is a channel that the bot may write to.
func (s *Server) writable(id string) (*channel, error) {
	ch := s.channel(id)
	if ch == nil || ch.outside && ch.kind == Private {
		return nil, refusal("channel_not_found")
	}
	if ch.archived {
		return nil, refusal("is_archived")
	}
	if ch.outside {
		return nil, refusal("not_in_channel")
	}
	return ch, nil
}

// own is a message of a channel that the bot may write to.
func (s *Server) own(a args) (*channel, *Message, error) {
	ch, err := s.writable(a.str("channel"))
	if err != nil {
		return nil, nil, err
	}
	m := ch.message(a.str("ts"))
	if m == nil {
		return nil, nil, refusal("message_not_found")
	}
	return ch, m, nil
}

func checkText(text string) error {
	if text == "" {
		return refusal("no_text")
	}
	if utf8.RuneCountInString(text) > textMax {
		return refusal("msg_too_long")
	}
	return nil
}

func (s *Server) postMessage(a args) (object, error) {
	ch, err := s.writable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	if err := checkText(a.str("text")); err != nil {
		return nil, err
	}
	if thread := a.str("thread_ts"); thread != "" && !timeStamp.MatchString(thread) {
		return nil, refusal("invalid_thread_ts")
	}
	metadata, err := readMetadata(a.str("metadata"))
	if err != nil {
		return nil, err
	}
	blocks, err := s.readBlocks(a.str("blocks"))
	if err != nil {
		return nil, err
	}
	m := s.post(ch, &Message{Thread: a.str("thread_ts"), User: s.BotUser, BotID: s.BotID, Text: a.str("text"), Metadata: metadata, Blocks: blocks})
	return object{"channel": ch.id, "ts": m.TS, "message": m.read(ch, true)}, nil
}

func (s *Server) update(a args) (object, error) {
	ch, m, err := s.own(a)
	if err != nil {
		return nil, err
	}
	if err := checkText(a.str("text")); err != nil {
		return nil, err
	}
	if m.BotID != s.BotID {
		return nil, refusal("cant_update_message")
	}
	if utf8.RuneCountInString(a.str("text")) > updateMax {
		return nil, refusal("msg_too_long")
	}
	if text := a.str("parse"); text != "" && text != "none" && text != "full" {
		return nil, refusal("invalid_arguments")
	}
	files, err := s.named(a.str("file_ids"))
	if err != nil {
		return nil, err
	}
	blocks, err := s.readBlocks(a.str("blocks"))
	if err != nil {
		return nil, err
	}
	metadata, err := readMetadata(a.str("metadata"))
	if err != nil {
		return nil, err
	}
	m.Blocks, m.Metadata = blocks, metadata // without them the old ones go, as far as an app can rely on
	m.Files = files                         // one that is not named goes: whether Slack does so is documented nowhere
	s.edit(ch, m, a.str("text"))
	return object{"channel": ch.id, "ts": m.TS, "text": m.Text, "message": m.read(ch, true)}, nil
}

func (s *Server) deleteMessage(a args) (object, error) {
	ch, m, err := s.own(a)
	if err != nil {
		return nil, err
	}
	if m.BotID != s.BotID {
		return nil, refusal("cant_delete_message")
	}
	s.remove(ch, m)
	return object{"channel": ch.id, "ts": a.str("ts")}, nil
}

// reaction is the message that a call of reactions.* means.
func (s *Server) reaction(a args) (*channel, *Message, error) {
	if !reactionName.MatchString(a.str("name")) {
		return nil, nil, refusal("invalid_name")
	}
	a.values["ts"] = a.str("timestamp")
	return s.own(a)
}

var reactionName = regexp.MustCompile(`^[a-z0-9_+'-]+(::skin-tone-[2-6])?$`)

func (s *Server) reactions(a args) (object, error) {
	ch, err := s.readable(a.str("channel"))
	if err != nil {
		return nil, err
	}
	m := ch.message(a.str("timestamp"))
	if m == nil {
		return nil, refusal("message_not_found")
	}
	return object{"type": "message", "channel": ch.id, "message": m.read(ch, false)}, nil
}

func (s *Server) addReaction(a args) (object, error) {
	ch, m, err := s.reaction(a)
	if err != nil {
		return nil, err
	}
	if slices.Contains(m.Reactions[a.str("name")], s.BotUser) {
		return nil, refusal("already_reacted")
	}
	s.react(ch, m, s.BotUser, a.str("name"))
	return object{}, nil
}

func (s *Server) removeReaction(a args) (object, error) {
	_, m, err := s.reaction(a)
	if err != nil {
		return nil, err
	}
	name := a.str("name")
	if !slices.Contains(m.Reactions[name], s.BotUser) {
		return nil, refusal("no_reaction")
	}
	m.Reactions[name] = slices.DeleteFunc(m.Reactions[name], func(u string) bool { return u == s.BotUser })
	if len(m.Reactions[name]) == 0 {
		delete(m.Reactions, name)
	}
	return object{}, nil
}

func (s *Server) setStatus(a args) (object, error) {
	ch, err := s.writable(a.str("channel_id"))
	if err != nil {
		return nil, err
	}
	if !timeStamp.MatchString(a.str("thread_ts")) {
		return nil, refusal("invalid_thread_ts")
	}
	ch.status = append(ch.status, Status{Thread: a.str("thread_ts"), Text: a.str("status")})
	return object{}, nil
}

// Status is what assistant.threads.setStatus showed; a Text of "" clears it.
type Status struct{ Thread, Text string }

// Statuses are those that a channel has shown, the oldest first.
func (s *Server) Statuses(channel string) []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.must(channel).status)
}
