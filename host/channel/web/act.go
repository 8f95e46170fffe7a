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
	stores "github.com/longshore-bridge/longshore/host/store"
)

// actSchema is a part of version 7: members' acts that the host does not have yet. A
// member's later act replaces the earlier one of the same kind on the same message.
const actSchema = `
CREATE TABLE acts (
	n      INTEGER PRIMARY KEY AUTOINCREMENT,
	chat   TEXT NOT NULL,
	behind INTEGER NOT NULL, -- the chat's newest message then
	id     TEXT NOT NULL,
	kind   TEXT NOT NULL,
	target TEXT NOT NULL,
	who    TEXT NOT NULL,
	body   TEXT NOT NULL,    -- JSON of act
	time   INTEGER NOT NULL
);
CREATE INDEX acts_chat ON acts (chat, n);`

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

	shown *shown // of Text
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
		after, err := w.apply(ctx, c, part, func(t *stores.Tx, seq int64) (bool, error) {
			changed, err := change(t, seq)
			if err == nil && changed && part.ID == a.Target {
				err = a.keep(t, c.name)
			}
			return changed, err
		})
		if err != nil {
			return nil, err
		}
		if after != nil {
			m = after.Message
		}
	}
	w.store.poke()
	return m, nil
}

// on returns the change of a message, or the reason why it is not allowed.
func (a *act) on(m *Message) (func(*stores.Tx, int64) (bool, error), error) {
	own := !m.Assistant && m.Author == a.Author
	switch a.Kind {
	case channel.KindReaction:
		mine := slices.ContainsFunc(m.Reactions, func(r Reaction) bool { return r.Who == a.Author })
		if !mine && len(m.Reactions) >= maxReactions {
			return nil, httpd.Refuse(http.StatusConflict, "too_many", fmt.Sprintf("the message has %d reactions, and takes no more", maxReactions), "")
		}
		return func(t *stores.Tx, seq int64) (bool, error) { return react(t, seq, a.Author, a.From, a.Emoji) }, nil
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
	return s.query(ctx, "SELECT "+columns+` WHERE m.chat = ?1 AND NOT m.removed AND m.seq BETWEEN ?2 AND ?2 + ?3 AND (m.id = ?4 OR m.id LIKE ?4 || '-%')
		ORDER BY m.seq`, chat, m.seq, maxPost, m.ID)
}

// keep enqueues the act for the host.
func (a *act) keep(t *stores.Tx, chat string) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make id: %w", err)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM acts WHERE chat = ? AND kind = ? AND target = ? AND who = ?`, chat, string(a.Kind), a.Target, a.Author); err != nil {
		return err
	}
	if _, err := t.Exec(`INSERT INTO acts (chat, behind, id, kind, target, who, body, time) VALUES (?1, (SELECT MAX(seq) FROM messages WHERE chat = ?1), ?2, ?3, ?4, ?5, ?6, ?7)`,
		chat, strings.ReplaceAll(id.String(), "-", ""), string(a.Kind), a.Target, a.Author, string(body), now().UnixMilli()); err != nil {
		return err
	}
	_, err = t.Exec(`DELETE FROM acts WHERE n IN (SELECT n FROM acts WHERE chat = ? ORDER BY n DESC LIMIT -1 OFFSET ?)`, chat, maxActs)
	return err
}

// acted returns an act for the host. The host knows a post by its first message.
func (s *store) acted(ctx context.Context, row journal.Inbound) (in channel.Inbound, err error) {
	var a act
	var body string
	if err := s.db.QueryRowContext(ctx, "SELECT body FROM acts WHERE n = ?", -row.Seq).Scan(&body); err != nil {
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
