package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// Examine implements channel.Platform: it asks Telegram about the token, the webhook, and
// the bot's rights in the groups' chats.
func (platform) Examine(ctx context.Context, setup channel.Setup, running bool) (all []channel.Finding) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	found := func(severity channel.Severity, message, remedy string) {
		all = append(all, channel.Finding{Check: setup.Name, Severity: severity, Message: message, Remedy: remedy})
	}
	t, err := newOf(setup)
	if err != nil {
		found(channel.Fault, err.Error(), "")
		return all
	}
	defer t.api.client.CloseIdleConnections()
	if t.settings.Token.Reveal() == "" {
		stop := t.NotPaired(noToken)
		found(channel.Warning, stop.Message, stop.Hint)
		return all
	}
	var me user
	if err := t.askShort(ctx, "getMe", struct{}{}, &me); err != nil {
		found(channel.Fault, "the bot's token: "+err.Error(), channel.HintOf(bot.ForCommand(err, t.settings.Server)))
		return all
	}
	if severity, words, remedy := t.examineWebhook(ctx, running); words != "" {
		found(severity, words, remedy)
	}
	inGroups := false
	for _, c := range setup.Chats {
		inGroups = inGroups || idOf(c.JID) < 0
		if words, remedy := t.lacks(ctx, me.ID, c.JID); words != "" {
			found(channel.Warning, string(c.JID)+": "+words, remedy)
		}
	}
	if inGroups && !me.SeesGroup {
		found(channel.Note, "the bot hears in groups only what speaks to it", privacy)
	}
	if len(all) == 0 {
		found(channel.Fine, "connects as @"+channel.CleanName(me.Name), "")
	}
	return all
}

// lacks returns what the bot cannot do in a chat, as far as Telegram says; empty: nothing.
func (t *Telegram) lacks(ctx context.Context, me int64, jid groups.JID) (words, remedy string) {
	var c struct {
		chat
		Rights rights `json:"permissions"` // of members
	}
	if err := t.askShort(ctx, "getChat", map[string]any{"chat_id": idOf(jid)}, &c); err != nil {
		var to int64
		if to = migration(err); to != 0 {
			return fmt.Sprintf("the group became a supergroup, %s", chatOf(to)), "correct its chat in longshore.yaml"
		}
		return err.Error(), channel.HintOf(err)
	}
	if idOf(jid) > 0 {
		return "", ""
	}
	var mine member
	if err := t.askShort(ctx, "getChatMember", map[string]any{"chat_id": idOf(jid), "user_id": me}, &mine); err != nil {
		return err.Error(), channel.HintOf(err)
	}
	if err := mine.barred(false); err != nil {
		return said(err), channel.HintOf(err)
	}
	missing := mine.missing()
	if mine.Status == "member" {
		missing = c.Rights.missing()
	}
	if len(missing) == 0 {
		return "", ""
	}
	return "the bot may send no " + strings.Join(missing, ", "), "an admin of the chat allows it, or makes the bot an admin"
}
