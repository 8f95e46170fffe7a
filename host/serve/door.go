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
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

const (
	codeFor     = time.Hour        // a pairing code counts, and is said once in that time
	maxCodes    = 50               // that count at the same time, over all channels
	knockFresh  = 10 * time.Minute // older messages, as after an outage, get no code
	knockWithin = 30 * time.Second // the code is sent, or it is not
)

// door gives pairing codes to people who write to the account in a direct chat that
// no group has, and notes the group chats that none has. Only the operator, over the control socket, approves one. Its
// methods may be called from several goroutines.
type door struct {
	file  string
	open  func() bool // whether the operator wants codes to be given
	log   *slog.Logger
	knock chan knocked

	strangers strangers

	mu    sync.Mutex
	codes []operator.PairingCode
}

type knocked struct {
	channel string
	channel.UnknownChat
}

func newDoor(l groups.Layout, open func() bool, log *slog.Logger) *door {
	d := &door{file: filepath.Join(l.Channel("pairing"), "codes.json"), open: open, log: log, knock: make(chan knocked, 16)}
	data, err := os.ReadFile(d.file)
	if err == nil {
		err = json.Unmarshal(data, &d.codes)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("pairing codes not read; they are given anew", "error", err)
	}
	return d
}

// report takes a message of an unknown chat from a channel. It returns at once, and
// drops what comes faster than codes are sent.
func (d *door) report(name string, k channel.UnknownChat) {
	if k.Shared {
		d.strangers.hear(name, k)
		return
	}
	if !d.open() || time.Since(k.Time) > knockFresh {
		return
	}
	select {
	case d.knock <- knocked{name, k}:
	default:
	}
}

// run sends codes until ctx is done.
func (d *door) run(ctx context.Context, channels []channel.Channel) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case k := <-d.knock:
			d.answer(ctx, channel.Named(channels, k.channel), k)
		}
	}
}

// answer says a code in the chat of somebody who knocked, unless the chat has one. A
// code that could not be sent is forgotten: the next message gets another.
func (d *door) answer(ctx context.Context, c channel.Channel, k knocked) {
	code := d.give(k)
	if c == nil || code == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, knockWithin)
	defer cancel()
	_, err := c.Send(ctx, channel.Message{
		ID: strings.ReplaceAll(uuid.NewString(), "-", ""), Chat: k.Chat,
		Text: "No assistant is in this chat yet. If its operator knows you, tell them this code: " + code + ". It counts for an hour.",
	})
	if err != nil {
		d.log.Warn("pairing code not sent", "channel", k.channel, "chat", string(k.Chat), "error", err)
		_, _ = d.take(code)
		return
	}
	d.log.Info("pairing code given", "channel", k.channel, "chat", string(k.Chat), "code", code)
}

// give makes a code for a chat; empty if the chat has one, or too many are given.
func (d *door) give(k knocked) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetOld()
	for _, p := range d.codes {
		if p.Channel == k.channel && p.Chat == string(k.Chat) {
			return ""
		}
	}
	if len(d.codes) >= maxCodes {
		d.log.Warn("no pairing code given: too many count already", "channel", k.channel, "hint", "see: longshore groups requests")
		return ""
	}
	text := rand.Text() // letters and 2 to 7, which nobody takes for each other
	p := operator.PairingCode{Code: text[:4] + "-" + text[4:8], Channel: k.channel, Chat: string(k.Chat), From: k.From, Until: time.Now().Add(codeFor)}
	d.codes = append(d.codes, p)
	if d.save() != nil {
		d.codes = d.codes[:len(d.codes)-1]
		return ""
	}
	return p.Code
}

// list is the codes that count.
func (d *door) list() []operator.PairingCode {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetOld()
	return slices.Clone(d.codes)
}

// take ends a code, in any case and with or without its dash.
func (d *door) take(code string) (operator.PairingCode, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetOld()
	plain := func(s string) string { return strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(s), "-", "")) }
	i := slices.IndexFunc(d.codes, func(p operator.PairingCode) bool { return plain(p.Code) == plain(code) })
	if i < 0 {
		return operator.PairingCode{}, &refusal.Error{
			Code: operator.CodeNotFound, Message: "no pairing code like that counts", Hint: "codes count for an hour; see: longshore groups requests",
		}
	}
	p := d.codes[i]
	d.codes = slices.Delete(d.codes, i, i+1)
	return p, d.save()
}

// forgetOld forgets codes whose time is over. The caller holds mu.
func (d *door) forgetOld() {
	d.codes = slices.DeleteFunc(d.codes, func(p operator.PairingCode) bool { return time.Now().After(p.Until) })
}

// save writes the codes down. The caller holds mu.
func (d *door) save() error {
	data, err := json.Marshal(d.codes)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(d.file), 0o700)
	}
	if err == nil {
		err = safefs.WriteFile(d.file, data, 0o600)
	}
	if err != nil {
		d.log.Error("pairing codes not kept", "error", err)
	}
	return err
}

// Codes implements operator.Pairing.
func (h *Host) Codes() []operator.PairingCode { return h.door.list() }

// ApprovePairing ends a code whose chat has a group now, and tells the chat.
func (h *Host) ApprovePairing(ctx context.Context, code string) error {
	p, err := h.door.take(code)
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
