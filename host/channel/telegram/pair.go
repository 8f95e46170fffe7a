package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// privacy says what privacy mode does, and how to leave it.
const privacy = "privacy mode hides what does not speak to the bot: turn it off with @BotFather, /setprivacy, and add the bot again, or make the bot an admin"

// Unpaired implements bot.Paired.
func (t *Telegram) Unpaired() *link.Stop { return t.NotPaired(!t.settings.Token.IsZero()) }

// Close implements bot.Paired.
func (t *Telegram) Close() { t.api.Client.CloseIdleConnections() }

// Me implements bot.Paired.
func (t *Telegram) Me(ctx context.Context) (string, error) {
	var me user
	if err := t.api.Ask(ctx, "POST", "getMe", struct{}{}, &me); err != nil {
		return "", fmt.Errorf("the bot's token: %w", bot.ForCommand(err, t.settings.Server))
	}
	t.self.Store(&me)
	return "@" + channel.CleanName(me.Name), nil
}

// Show implements bot.Paired.
func (t *Telegram) Show(ctx context.Context, p channel.Pairing) error {
	me := t.self.Load()
	if !me.SeesGroup {
		p.Say("  %s", privacy)
	}
	if p.To != "" {
		return nil
	}
	return t.find(ctx, "@"+channel.CleanName(me.Name), p)
}

// findFor is how long pair waits for a message.
const findFor = 2 * time.Minute

// find names the chats of new updates. It does not acknowledge them, so the host gets them later.
func (t *Telegram) find(ctx context.Context, name string, p channel.Pairing) error {
	var hook webhook
	if err := t.api.Ask(ctx, "POST", "getWebhookInfo", struct{}{}, &hook); err != nil {
		return err
	}
	switch {
	case hook.URL != "" && hook.URL == t.settings.Webhook:
		p.Say("updates go to the host's webhook: write to the bot while the host runs, and its log names the chat")
		return nil
	case hook.URL != "":
		return t.api.Refuse(webapi.Word{Code: http.StatusConflict, Said: "a webhook is set"})
	case p.Running:
		p.Say("the host runs and hears the bot: write to it, and the host's log names the chat")
		return nil
	}
	p.Say("write to %s, or add it to a group and write %s there; this waits two minutes", name, name)
	until, end := context.WithTimeout(ctx, findFor)
	defer end()
	for until.Err() == nil {
		var all []json.RawMessage
		err := t.api.AskLong(until, "POST", "getUpdates", map[string]any{"timeout": polling, "allowed_updates": heard}, &all)
		if err != nil && until.Err() == nil {
			return err
		}
		if named := sayChats(all, p); named {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.Say("nobody wrote")
	return nil
}

// sayChats names the chats of updates, each once.
func sayChats(all []json.RawMessage, p channel.Pairing) (named bool) {
	once := map[int64]bool{}
	for _, raw := range all {
		var u update
		if json.Unmarshal(raw, &u) != nil {
			continue
		}
		c := chat{}
		if u.Message != nil {
			c = u.Message.Chat
		} else if u.Mine != nil {
			c = u.Mine.Chat
		}
		if c.ID != 0 && !once[c.ID] {
			once[c.ID], named = true, true
			p.Say("  %-24s %s", chatOf(c.ID), channel.CleanName(cmp.Or(c.Title, c.First)))
		}
	}
	if named {
		p.Say("name one as chat of a group in longshore.yaml")
	}
	return named
}
