package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

const (
	mostUpdates = 100       // of one answer
	polling     = 25        // seconds that Telegram holds a poll open: less than transfer.HeaderTimeout
	maxUpdate   = 256 << 10 // bytes of one update
)

// Connect implements bot.Hooks: it takes updates until the connection is lost.
func (t *Telegram) Connect(ctx context.Context, o *bot.Open, up func(string)) error {
	if stop := t.Unpaired(); stop != nil {
		return stop
	}
	if err := t.moved.load(ctx, o.Journal); err != nil {
		return err
	}
	t.Barred.Clear() // earlier reports may be out of date
	me, err := t.Me(ctx)
	if err != nil {
		return link.StopOf(err)
	}
	t.register(ctx)
	detail := "connected as " + me
	if !t.self.Load().SeesGroup {
		detail += "; " + privacy
	}
	if t.settings.Webhook != "" {
		return t.hooked(ctx, o, up, detail)
	}
	if err := t.unhook(ctx, o.Journal); err != nil {
		return link.StopOf(err)
	}
	up(detail)
	return t.poll(ctx, o)
}

// poll asks Telegram for updates. The next question acknowledges those that were kept.
func (t *Telegram) poll(ctx context.Context, o *bot.Open) error {
	for offset, most := int64(0), mostUpdates; ; {
		var all []json.RawMessage
		poll, end := context.WithTimeout(ctx, (polling+20)*time.Second)
		err := t.api.AskLong(poll, "POST", "getUpdates", map[string]any{"offset": offset, "limit": most, "timeout": polling, "allowed_updates": heard}, &all)
		end()
		if errors.Is(err, transfer.ErrTooLong) && most > 1 {
			most /= 10
			continue
		}
		if err != nil {
			return link.StopOf(err)
		}
		most = mostUpdates
		for _, raw := range all {
			id, err := t.keep(ctx, o, raw)
			if err != nil {
				return err
			}
			offset = max(offset, id+1)
		}
	}
}

func (t *Telegram) register(ctx context.Context) {
	var all []map[string]string
	for _, c := range bot.Commands() {
		all = append(all, map[string]string{"command": c.Name, "description": c.Help})
	}
	if err := t.api.Ask(ctx, "POST", "setMyCommands", map[string]any{"commands": all}, nil); err != nil && ctx.Err() == nil {
		t.Log.Info("register the bot's commands", "error", err)
	}
}

// keep makes an update durable if it is of a group's chat and for the host, and returns its number.
func (t *Telegram) keep(ctx context.Context, o *bot.Open, raw json.RawMessage) (int64, error) {
	u, in, err := decode(raw, t.self.Load())
	if err != nil || len(raw) > maxUpdate {
		t.Log.Warn("an update cannot be read, or is too large", "bytes", len(raw), "error", err)
		if short := bare(raw, err == nil); short != nil {
			raw = short
			u, in, err = decode(raw, t.self.Load())
		}
	}
	if u.ID <= 0 {
		return 0, errors.New("an update has no number")
	}
	switch m := u.Message; {
	case err != nil:
		t.Log.Warn("pass over an update that cannot be read", "error", err)
		return u.ID, nil
	case m != nil && m.MigrateTo != 0:
		return u.ID, t.follow(ctx, o.Journal, m.Chat.ID, m.MigrateTo)
	case m != nil && m.MigrateFrom != 0:
		return u.ID, t.follow(ctx, o.Journal, m.MigrateFrom, m.Chat.ID)
	case u.Mine != nil:
		t.noteMembership(u.Mine.Chat, u.Mine.New)
		return u.ID, nil
	case u.Answer != nil:
		return u.ID, t.keepVote(ctx, o, &u)
	case in == nil:
		return u.ID, nil
	}
	in.Chat = t.chatOf(idOf(in.Chat))
	if len(raw) > maxUpdate {
		t.Log.Warn("pass over an update that is too large", "chat", in.Chat, "bytes", len(raw))
		return u.ID, nil
	}
	if !t.Serves(in.Chat) {
		if u.Message != nil {
			t.Log.Info("a message is from a chat that no group has", "chat", in.Chat)
			t.ReportUnknown(in.Chat, u.Message.Chat.Type == "private", in.From, in.Time)
		}
		return u.ID, nil
	}
	t.present.seen(in)
	return u.ID, o.Keep(ctx, *in, nil)
}

func (t *Telegram) chatOf(id int64) groups.JID { return chatOf(t.moved.before(id, t.Serves)) }

// Give implements bot.Hooks: it gives the host a kept update.
func (t *Telegram) Give(ctx context.Context, in channel.Inbox, m journal.Inbound) error {
	got, err := bot.Decode(m, nil)
	if err != nil {
		t.Log.Warn("an update of the journal cannot be read: it comes in as words", "error", err)
		return in.Receive(ctx, bot.Unreadable(m, ""))
	}
	if got.Quote != nil && len(got.Quote.Files) > 0 {
		t.refer(ctx, m.Chat, got.Quote)
	}
	return in.Receive(ctx, got)
}

// refer gives the files of a quote their first Refs, if the journal has their message, so that the
// host recognizes them.
func (t *Telegram) refer(ctx context.Context, chat groups.JID, q *channel.Quote) {
	kept, err := t.Open().Journal.Inbound(ctx, chat, q.ID)
	if err != nil || kept == nil {
		return
	}
	before, _ := bot.Decode(*kept, nil)
	for i, f := range q.Files {
		for _, first := range before.Files {
			a, _ := fileOf(f.Ref)
			if b, _ := fileOf(first.Ref); a == b && a != "" {
				q.Files[i].Ref = first.Ref
			}
		}
	}
}
