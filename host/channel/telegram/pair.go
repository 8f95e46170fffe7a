package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Examine implements channel.Platform: it asks Telegram about the token, the webhook, and
// the bot's rights in the groups' chats.
func (p platform) Examine(ctx context.Context, s channel.Setup, running bool) []finding.Finding {
	t, err := newOf(s)
	return p.Kind.Examine(ctx, s, t, err, running)
}

// Look implements bot.Paired.
func (t *Telegram) Look(ctx context.Context, running bool, found bot.Found) {
	me := t.self.Load()
	if severity, words, remedy := t.examineWebhook(ctx, running); words != "" {
		found(severity, words, remedy)
	}
	inGroups := false
	for _, c := range t.Served() {
		inGroups = inGroups || idOf(c.JID) < 0
		if words, remedy := t.lacks(ctx, me.ID, c.JID); words != "" {
			found(finding.Warning, string(c.JID)+": "+words, remedy)
		}
	}
	if inGroups && !me.SeesGroup {
		found(finding.Note, "the bot hears in groups only what speaks to it", privacy)
	}
}

// lacks returns what the bot cannot do in a chat, as far as Telegram says; empty: nothing.
func (t *Telegram) lacks(ctx context.Context, me int64, jid groups.JID) (words, remedy string) {
	var c struct {
		chat
		Rights rights `json:"permissions"` // of members
	}
	err := t.api.Ask(ctx, "POST", "getChat", args{"chat_id": idOf(jid)}, &c)
	if to := migration(err); to != 0 {
		return fmt.Sprintf("the group became a supergroup, %s", chatOf(to)), "correct its chat in longshore.yaml"
	}
	var mine member
	if err == nil && idOf(jid) < 0 {
		err = t.api.Ask(ctx, "POST", "getChatMember", args{"chat_id": idOf(jid), "user_id": me}, &mine)
	}
	if err = cmp.Or(err, mine.barred(false)); err != nil {
		return err.Error(), channel.HintOf(err)
	}
	missing := mine.Rights.missing()
	if mine.Status == "member" {
		missing = c.Rights.missing()
	}
	if len(missing) == 0 {
		return "", ""
	}
	return "the bot may send no " + strings.Join(missing, ", "), "an admin of the chat allows it, or makes the bot an admin"
}

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
	until, end := context.WithTimeout(ctx, 2*time.Minute)
	defer end()
	for until.Err() == nil {
		var all []json.RawMessage
		err := t.api.AskLong(until, "POST", "getUpdates", map[string]any{"timeout": polling, "allowed_updates": heard}, &all)
		if err != nil && until.Err() == nil {
			return err
		}
		if sayChats(all, p) {
			return nil
		}
	}
	p.Say("nobody wrote")
	return ctx.Err()
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
