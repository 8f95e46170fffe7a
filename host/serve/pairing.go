package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
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
	file    string
	live    *live.Current
	log     *slog.Logger
	senders chan unknownSender
	unknown unknownChats

	mu    sync.Mutex
	codes []operator.PairingCode
}

// unknownSender is a person who wrote in a direct chat without a group.
type unknownSender struct {
	channel string
	channel.UnknownChat
}

func newPairing(l groups.Layout, now *live.Current, log *slog.Logger) *pairing {
	p := &pairing{file: filepath.Join(l.Channel("pairing"), "codes.json"), live: now, log: log, senders: make(chan unknownSender, 16)}
	data, err := os.ReadFile(p.file)
	if err == nil {
		err = json.Unmarshal(data, &p.codes)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("pairing codes not read; they are given anew", "error", err)
	}
	return p
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
	code := p.give(k)
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
		_, _ = p.take(code)
		return
	}
	p.log.Info("pairing code given", "channel", k.channel, "chat", string(k.Chat), "code", code)
}

// give makes a code for a chat; empty if the chat has one, or if too many count.
func (p *pairing) give(k unknownSender) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetOld()
	for _, c := range p.codes {
		if c.Channel == k.channel && c.Chat == string(k.Chat) {
			return ""
		}
	}
	if len(p.codes) >= maxCodes {
		p.log.Warn("no pairing code given: too many count already", "channel", k.channel, "hint", "see: longshore groups requests")
		return ""
	}
	text := rand.Text() // A to Z and 2 to 7: no 0 and 1, which look like letters
	made := operator.PairingCode{Code: text[:4] + "-" + text[4:8], Channel: k.channel, Chat: string(k.Chat), From: k.From, Until: time.Now().Add(codeFor)}
	p.codes = append(p.codes, made)
	if p.save() != nil {
		p.codes = p.codes[:len(p.codes)-1]
		return ""
	}
	return made.Code
}

// list returns the codes that count.
func (p *pairing) list() []operator.PairingCode {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetOld()
	return slices.Clone(p.codes)
}

// take ends a code and returns it. It may be typed in lower case and without its dash.
func (p *pairing) take(code string) (operator.PairingCode, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetOld()
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(s), "-", "")) }
	i := slices.IndexFunc(p.codes, func(c operator.PairingCode) bool { return plain(c.Code) == plain(code) })
	if i < 0 {
		return operator.PairingCode{}, &refusal.Error{
			Code: operator.CodeNotFound, Message: "no pairing code like that counts", Hint: "codes count for an hour; see: longshore groups requests",
		}
	}
	taken := p.codes[i]
	p.codes = slices.Delete(p.codes, i, i+1)
	return taken, p.save()
}

// forgetOld deletes the codes whose time is over. The caller holds mu.
func (p *pairing) forgetOld() {
	p.codes = slices.DeleteFunc(p.codes, func(c operator.PairingCode) bool { return time.Now().After(c.Until) })
}

// save writes the codes into their file. The caller holds mu.
func (p *pairing) save() error {
	data, err := json.Marshal(p.codes)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.file), 0o700)
	}
	if err == nil {
		err = safefs.WriteFile(p.file, data, 0o600)
	}
	if err != nil {
		p.log.Error("pairing codes not kept", "error", err)
	}
	return err
}

// Codes implements operator.Pairing.
func (h *Host) Codes() []operator.PairingCode { return h.pairing.list() }

// ApprovePairing implements operator.Pairing: it ends a code whose chat has a group now, and writes so
// in the chat.
func (h *Host) ApprovePairing(ctx context.Context, code string) error {
	p, err := h.pairing.take(code)
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
