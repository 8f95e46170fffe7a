package serve

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

const (
	codeFor     = time.Hour        // how long a code counts; a chat gets one code in that time
	maxCodes    = 50               // codes that count at the same time, over all channels
	senderFresh = 10 * time.Minute // older messages, as after an outage, get no code
	codeWithin  = 30 * time.Second // how long sending a code may take
)

// pairing gives codes to people who write in a direct chat without a group, and counts the group chats
// without one. Only the operator approves a code. Several goroutines may call its methods.
type pairing struct {
	state   *state.DB // has the codes
	live    *live.Current
	log     *slog.Logger
	senders chan unknownSender
	unknown unknownChats
}

// unknownSender is a person who wrote in a direct chat without a group.
type unknownSender struct {
	channel string
	channel.UnknownChat
}

func newPairing(db *state.DB, now *live.Current, log *slog.Logger) *pairing {
	return &pairing{state: db, live: now, log: log, senders: make(chan unknownSender, 16)}
}

// report takes a message of a chat without a group from a channel. It returns at once, and drops a
// message if too many wait for a code.
func (p *pairing) report(name string, k channel.UnknownChat) {
	if k.Shared {
		if k.Text == "" || triggered(p.live.Registry(), name, k.Text) {
			p.unknown.add(name, k)
		}
		return
	}
	if p.live.Config().Direct != "pairing" || time.Since(k.Time) > senderFresh {
		return
	}
	select {
	case p.senders <- unknownSender{name, k}:
	default:
	}
}

// run sends codes until ctx is done.
func (p *pairing) run(ctx context.Context, channels []channel.Channel) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case k := <-p.senders:
			p.answer(ctx, channel.Named(channels, k.channel), k)
		}
	}
}

// answer sends a code to the chat of an unknown sender, unless the chat has one. If the code cannot be
// sent, it is deleted, and the next message gets another.
func (p *pairing) answer(ctx context.Context, c channel.Channel, k unknownSender) {
	code := p.give(ctx, k)
	if c == nil || code == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, codeWithin)
	defer cancel()
	_, err := c.Send(ctx, channel.Message{
		ID: strings.ReplaceAll(uuid.NewString(), "-", ""), Chat: k.Chat,
		Text: "No assistant is in this chat yet. If its operator knows you, tell them this code: " + code + ". It counts for an hour.",
	})
	if err != nil {
		p.log.Warn("pairing code not sent", "channel", k.channel, "chat", string(k.Chat), "error", err)
		_, _ = p.take(context.WithoutCancel(ctx), code)
		return
	}
	p.log.Info("pairing code given", "channel", k.channel, "chat", string(k.Chat), "code", code)
}

// give makes a code for a chat; empty if the chat has one, or too many are given.
func (p *pairing) give(ctx context.Context, k unknownSender) (code string) {
	text := rand.Text() // letters and 2 to 7, which nobody takes for each other
	var tooMany bool
	err := p.state.Do(ctx, func(t *state.Tx) error {
		code, tooMany = "", false
		now := time.Now()
		if err := t.Exec(`DELETE FROM pairing_code WHERE until < ?`, now.UnixNano()); err != nil {
			return err
		}
		var count int
		if err := t.QueryRow(`SELECT count(*) FROM pairing_code`).Scan(&count); err != nil {
			return err
		}
		if tooMany = count >= maxCodes; tooMany {
			return nil
		}
		n, err := t.Changed(`INSERT INTO pairing_code (code, channel, chat, sender, until) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			text[:4]+"-"+text[4:8], k.channel, string(k.Chat), k.From, now.Add(codeFor).UnixNano())
		if n > 0 {
			code = text[:4] + "-" + text[4:8]
		}
		return err
	}, nil)
	if err != nil {
		p.log.Error("pairing code not kept", "error", err)
		return ""
	}
	if tooMany {
		p.log.Warn("no pairing code given: too many count already", "channel", k.channel, "hint", "see: longshore groups requests")
	}
	return code
}

// list is the codes that count.
func (p *pairing) list() (all []operator.PairingCode) {
	rows, err := p.state.Query(`SELECT code, channel, chat, sender, until FROM pairing_code WHERE until >= ? ORDER BY until, code`, time.Now().UnixNano())
	all, err = state.All(rows, err, func(rows *sql.Rows) (operator.PairingCode, error) { return scanCode(rows) })
	if err != nil {
		p.log.Error("pairing codes not read", "error", err)
	}
	return all
}

func scanCode(row interface{ Scan(...any) error }) (c operator.PairingCode, err error) {
	var until int64
	err = row.Scan(&c.Code, &c.Channel, &c.Chat, &c.From, &until)
	c.Until = time.Unix(0, until)
	return c, err
}

// take ends a code, in any case and with or without its dash.
func (p *pairing) take(ctx context.Context, code string) (taken operator.PairingCode, err error) {
	code = strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(code), "-", ""))
	err = p.state.Do(ctx, func(t *state.Tx) (err error) {
		taken, err = scanCode(t.QueryRow(`DELETE FROM pairing_code WHERE replace(code, '-', '') = ? AND until >= ? RETURNING code, channel, chat, sender, until`, code, time.Now().UnixNano()))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}, nil)
	if err == nil && taken.Code == "" {
		err = &refusal.Error{
			Code: operator.CodeNotFound, Message: "no pairing code like that counts", Hint: "codes count for an hour; see: longshore groups requests",
		}
	}
	return taken, store.Words(err)
}

// Codes implements operator.Pairing.
func (h *Host) Codes() []operator.PairingCode { return h.pairing.list() }

// ApprovePairing implements operator.Pairing: it ends a code whose chat has a group now, and writes so
// in the chat.
func (h *Host) ApprovePairing(ctx context.Context, code string) error {
	p, err := h.pairing.take(ctx, code)
	if err != nil {
		return err
	}
	g, ok := h.Registry().ByAddress(groups.Address{Channel: p.Channel, JID: groups.JID(p.Chat)})
	if !ok {
		return &refusal.Error{Code: operator.CodeNotFound, Message: "no group has the chat " + p.Chat, Hint: "add one: longshore groups add " + p.Chat}
	}
	h.opts.Log.Info("direct chat approved", "code", p.Code, "channel", p.Channel, "chat", p.Chat, "name", p.From, "group", g.Folder)
	return h.Bridge.Tell(ctx, g.Folder, "", "The operator has let you in. What you write from now on reaches the assistant.", "paired "+p.Code)
}
