package web

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	maxActs      = 500 // that wait in a chat; then the oldest are discarded
	maxReactions = 200 // to one message
)

// act is what a member does to a message: a reaction, an edit, a deletion or a vote.
type act struct {
	Kind    channel.Kind `json:"kind"`
	Target  string       `json:"target"`
	From    string       `json:"from"`
	Secret  string       `json:"secret,omitempty"` // the browser's; never stored
	Author  string       `json:"author"`           // the mark of the secret
	Emoji   string       `json:"emoji,omitempty"`
	Text    string       `json:"text,omitempty"`
	Choices []string     `json:"choices,omitempty"`

	shown shown // of Text
}

// act handles a request to react to a message, to vote, or to edit or delete a message
// posted with the same secret.
func (w *Web) act(rw http.ResponseWriter, r *http.Request) {
	c, ok := w.chatOf(rw, r)
	if !ok {
		return
	}
	var a act
	err := readJSON(rw, r, &a, `{"kind": "reaction", "target": "…", "secret": "…", "from": "…", "emoji": "👍"}`)
	if err == nil {
		err = a.check()
	}
	if err == nil {
		err = w.textSpace()
	}
	var m *Message
	if err == nil {
		m, err = w.do(r.Context(), c, &a)
	}
	if err != nil {
		w.failed(rw, r, err)
		return
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"message": m})
}

// check cleans the act and refuses an invalid one.
func (a *act) check() error {
	a.From, a.Text = cleanName(a.From, "Member"), cleanText(a.Text)
	only := func(emoji, text, choices bool) bool {
		return (emoji || a.Emoji == "") && (text || a.Text == "") && (choices || len(a.Choices) == 0)
	}
	switch {
	case a.Author != "":
		return httpd.Refuse(http.StatusBadRequest, "bad_key", "an act has a secret and no author", "leave author out")
	case !secretOK(a.Secret):
		return badSecret()
	case !messageID.MatchString(a.Target):
		return httpd.Refuse(http.StatusBadRequest, "bad_target", "target is not the id of a message", "use the id that the API gave")
	case utf8.RuneCountInString(a.Text) > maxText:
		return textTooLong()
	case a.Kind == channel.KindReaction && only(true, false, false):
		given := a.Emoji
		if a.Emoji = channel.CleanName(given); given != "" && !emoji.IsOne(a.Emoji) {
			return httpd.Refuse(http.StatusBadRequest, "bad_emoji", "that is not one emoji", "use an emoji, or none to take the reaction back")
		}
	case a.Kind == channel.KindEdit && only(false, true, false):
	case a.Kind == channel.KindDeletion && only(false, false, false):
	case a.Kind == channel.KindVote && only(false, false, true):
	default:
		return httpd.Refuse(http.StatusBadRequest, "bad_kind", "that cannot be done to a message", "use kind reaction with emoji, edit with text, deletion, or vote with choices")
	}
	a.Author, a.Secret, a.shown = markOf(a.Secret), "", show(a.Text)
	return nil
}

// do makes an act durable for the host, shows it, and returns the changed message. It
// ignores an act that changes nothing.
func (w *Web) do(ctx context.Context, c *room, a *act) (*Message, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	m, err := w.store.byID(ctx, c.name, a.Target)
	switch {
	case err != nil:
		return nil, err
	case m == nil || m.Removed:
		return nil, httpd.Refuse(http.StatusNotFound, "unknown_message", "the chat does not have that message any more", "")
	}
	change, err := a.on(m)
	if err != nil {
		return nil, err
	}
	parts := []*Message{m}
	if a.Kind == channel.KindDeletion {
		if parts, err = w.store.post(ctx, c.name, m); err != nil {
			return nil, err
		}
	}
	// The first message comes last: as long as it exists, the act can be repeated.
	for _, part := range slices.Backward(parts) {
		var by *act // the host hears of the post as one
		if part.ID == a.Target {
			by = a
		}
		after, err := w.apply(ctx, c, part, by, change)
		if err != nil {
			return nil, err
		}
		if after != nil {
			m = after.Message
		}
	}
	wake.Up(w.store.news)
	return m, nil
}

// on returns the change of a message, or the reason why it is not allowed.
func (a *act) on(m *Message) (func(*Message) bool, error) {
	own := !m.Assistant && m.Author == a.Author
	switch a.Kind {
	case channel.KindReaction:
		mine := slices.ContainsFunc(m.Reactions, func(r Reaction) bool { return r.Who == a.Author })
		if !mine && len(m.Reactions) >= maxReactions {
			return nil, httpd.Refuse(http.StatusConflict, "too_many", fmt.Sprintf("the message has %d reactions, and takes no more", maxReactions), "")
		}
		return react(a.Author, a.From, a.Emoji), nil
	case channel.KindVote:
		if m.Poll == nil {
			return nil, httpd.Refuse(http.StatusBadRequest, "bad_target", "the message is not a question with choices", "")
		}
		return m.Poll.vote(a)
	}
	switch {
	case !own:
		return nil, httpd.Refuse(http.StatusForbidden, "not_your_message", "the message was not written in this browser", "")
	case strings.Contains(m.ID, "-"):
		return nil, httpd.Refuse(http.StatusBadRequest, "bad_target", "several files are edited and deleted as one", "name the first message of the post")
	case a.Kind == channel.KindDeletion:
		return remove, nil
	case m.File == nil && strings.TrimSpace(a.Text) == "":
		return nil, httpd.Refuse(http.StatusBadRequest, "empty", "there is nothing left of the message", "delete it instead")
	}
	return edit(a.Text, a.shown, false), nil
}

// post returns the messages of the post that begins with m: m and those with further files
// after it.
func (s *store) post(ctx context.Context, chat string, m *Message) ([]*Message, error) {
	return s.query(ctx, messages+`chat = ? AND removed = 0 AND seq BETWEEN ? AND ? AND (id = ? OR id LIKE ?) ORDER BY seq`,
		s.name, chat, m.seq, m.seq+maxPost, m.ID, m.ID+"-%")
}

// keep enqueues the act for the host.
func (s *store) keep(t *state.Tx, chat string, a *act) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make id: %w", err)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM page_act WHERE channel = ? AND chat = ? AND kind = ? AND target = ? AND who = ?`, s.name, chat, string(a.Kind), a.Target, a.Author); err != nil {
		return err
	}
	if _, err := t.Exec(`INSERT INTO page_act (channel, chat, behind, id, kind, target, who, body, time)
		VALUES (?1, ?2, (SELECT MAX(seq) FROM page_message WHERE channel = ?1 AND chat = ?2), ?3, ?4, ?5, ?6, ?7, ?8)`,
		s.name, chat, strings.ReplaceAll(id.String(), "-", ""), string(a.Kind), a.Target, a.Author, string(body), now().UnixMilli()); err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM page_act WHERE channel = ?1 AND chat = ?2
		AND n <= (SELECT n FROM page_act WHERE channel = ?1 AND chat = ?2 ORDER BY n DESC LIMIT 1 OFFSET ?3)`, s.name, chat, maxActs)
	return err
}

// acted returns an act for the host. The host knows a post by its first message.
func (s *store) acted(ctx context.Context, row journal.Inbound) (in channel.Inbound, err error) {
	var a act
	var body string
	if err := s.db.QueryRowContext(ctx, "SELECT body FROM page_act WHERE n = ?", -row.Seq).Scan(&body); err != nil {
		if errors.Is(err, sql.ErrNoRows) { // a later act has just replaced it
			return in, nil
		}
		return in, reading(err)
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		return in, reading(err)
	}
	target, _, _ := strings.Cut(a.Target, "-")
	return channel.Inbound{Kind: a.Kind, ID: row.ID, Chat: row.Chat, From: a.From, Time: row.Received, Role: channel.RoleAdmin,
		Target: target, Emoji: a.Emoji, Text: a.Text, Choices: a.Choices}, nil
}
