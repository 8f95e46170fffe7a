package telegram

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
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
