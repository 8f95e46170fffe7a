package slacktest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Block is a block of a message: a section with a text, or a row of buttons. Other
// kinds are refused. The bounds are those of docs.slack.dev, Block Kit.
type Block struct {
	Type     string   `json:"type"`
	BlockID  string   `json:"block_id,omitempty"`
	Text     *Text    `json:"text,omitempty"`
	Elements []Button `json:"elements,omitempty"`
}

// Text is a text in a block.
type Text struct {
	Type     string `json:"type"` // plain_text or mrkdwn
	Text     string `json:"text"`
	Emoji    *bool  `json:"emoji,omitempty"`    // of plain_text
	Verbatim *bool  `json:"verbatim,omitempty"` // of mrkdwn
}

// Button is a button in a row.
type Button struct {
	Type     string `json:"type"`
	ActionID string `json:"action_id"`
	Text     Text   `json:"text"`
	Value    string `json:"value,omitempty"`
}

const (
	blocksMax  = 50
	sectionMax = 3000
	buttonsMax = 25
	labelMax   = 75
)

func (s *Server) readBlocks(text string) (all []Block, err error) {
	if text == "" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil || len(all) > blocksMax {
		return nil, refusal("invalid_blocks_format")
	}
	for i := range all {
		if !all[i].valid() {
			return nil, refusal("invalid_blocks")
		}
		if all[i].BlockID == "" {
			all[i].BlockID = s.newID("b")
		}
	}
	return all, nil
}

func (b *Block) valid() bool {
	switch b.Type {
	case "section":
		return b.Text != nil && b.Text.valid(sectionMax) && b.Elements == nil
	case "actions":
		ids := map[string]bool{}
		for _, e := range b.Elements {
			if e.Type != "button" || e.Text.Type != "plain_text" || !e.Text.valid(labelMax) || e.ActionID == "" || len(e.ActionID) > 255 || ids[e.ActionID] {
				return false
			}
			ids[e.ActionID] = true
		}
		return b.Text == nil && len(ids) > 0 && len(ids) <= buttonsMax
	}
	return false
}

func (t *Text) valid(most int) bool {
	n := utf8.RuneCountInString(t.Text)
	ofKind := t.Type == "plain_text" && t.Verbatim == nil || t.Type == "mrkdwn" && t.Emoji == nil
	return ofKind && n > 0 && n <= most
}

// Buttons are the labels of a message's buttons.
func (m Message) Buttons() (labels []string) {
	for _, b := range m.Blocks {
		for _, e := range b.Elements {
			labels = append(labels, e.Text.Text)
		}
	}
	return labels
}

// Shown is what members read of a message with blocks, beside its buttons.
func (m Message) Shown() string {
	var texts []string
	for _, b := range m.Blocks {
		if b.Text != nil {
			texts = append(texts, b.Text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Press has a member press a button of a message of the bot, and says whether the
// message has it.
func (s *Server) Press(channel, user, ts, label string) bool {
	return s.PressFrom(channel, channel, user, ts, label)
}

// PressFrom is Press, as if the message stood in another channel.
func (s *Server) PressFrom(from, channel, user, ts, label string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(channel)
	m := ch.message(ts)
	if m == nil {
		return false
	}
	for _, b := range m.Blocks {
		if i := slices.IndexFunc(b.Elements, func(e Button) bool { return e.Text.Text == label }); i >= 0 {
			s.hand(&envelope{kind: "interactive", payload: s.pressed(s.must(from), m, user, b, b.Elements[i])})
			return true
		}
	}
	return false
}

// Interact sends an interaction of a test's own making.
func (s *Server) Interact(payload map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hand(&envelope{kind: "interactive", payload: payload})
}

// pressed is a block_actions payload.
func (s *Server) pressed(ch *channel, m *Message, user string, b Block, e Button) object {
	at := s.now()
	container := object{"type": "message", "message_ts": m.TS, "channel_id": ch.id, "is_ephemeral": false}
	if m.Thread != "" {
		container["thread_ts"] = m.Thread
	}
	return object{
		"type": "block_actions", "api_app_id": s.AppID, "token": "loopback", "trigger_id": s.newID("13345224609.738474920."), "is_enterprise_install": false,
		"user": object{"id": user, "username": "a.member", "name": "a.member", "team_id": s.Team}, "team": object{"id": s.Team, "domain": "loopback"}, "enterprise": nil,
		"container": container, "channel": object{"id": ch.id, "name": ch.name}, "message": m.read(ch, false), "state": object{"values": object{}},
		"response_url": s.srv.URL + "/actions/none",
		"actions": []object{{
			"type": "button", "block_id": b.BlockID, "action_id": e.ActionID, "action_ts": at, "value": e.Value,
			"text": object{"type": "plain_text", "text": e.Text.Text, "emoji": true},
		}},
	}
}
