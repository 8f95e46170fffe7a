package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state"
)

// maxActs is how many acts wait in a chat. Then the oldest are discarded.
const maxActs = 500

// Act is what a member does to a message: a reaction, an edit, a deletion or a vote.
type Act struct {
	Kind    channel.Kind `json:"kind"`
	Target  string       `json:"target"`
	From    string       `json:"from"`
	Author  string       `json:"author"` // the mark of the browser's secret
	Emoji   string       `json:"emoji,omitempty"`
	Text    string       `json:"text,omitempty"`
	Choices []string     `json:"choices,omitempty"`
}

// keep enqueues the act for the host.
func (s *Store) keep(t *state.Tx, chat string, a *Act) error {
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
func (s *Store) acted(ctx context.Context, row journal.Inbound) (in channel.Inbound, err error) {
	var a Act
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
