package telegram

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Examine implements channel.Platform: it asks Telegram about the token, the webhook, and
// the bot's rights in the groups' chats.
func (platform) Examine(ctx context.Context, setup channel.Setup, running bool) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	e := channel.Examination{Channel: setup.Name}
	t, err := newOf(setup)
	if err != nil {
		e.Found(finding.Fault, err.Error(), "")
		return e.All
	}
	defer t.api.client.CloseIdleConnections()
	if t.settings.Token.Reveal() == "" {
		stop := t.NotPaired(noToken)
		e.Found(finding.Warning, stop.Message, stop.Hint)
		return e.All
	}
	var me user
	if err := t.askShort(ctx, "getMe", struct{}{}, &me); err != nil {
		e.Found(finding.Fault, "the bot's token: "+err.Error(), channel.HintOf(bot.ForCommand(err, t.settings.Server)))
		return e.All
	}
	if severity, words, remedy := t.examineWebhook(ctx, running); words != "" {
		e.Found(severity, words, remedy)
	}
	inGroups := false
	for _, c := range setup.Chats {
		inGroups = inGroups || idOf(c.JID) < 0
		if words, remedy := t.lacks(ctx, me.ID, c.JID); words != "" {
			e.Found(finding.Warning, string(c.JID)+": "+words, remedy)
		}
	}
	if inGroups && !me.SeesGroup {
		e.Found(finding.Note, "the bot hears in groups only what speaks to it", privacy)
	}
	if len(e.All) == 0 {
		e.Found(finding.Fine, "connects as @"+channel.CleanName(me.Name), "")
	}
	return e.All
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
