package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Scope is a permission of the app, and what the host uses it for.
type Scope struct {
	Name   string
	Why    string
	Needed bool // nothing works without
}

// Scopes returns the scopes of the Manifest.
func Scopes() []Scope {
	return []Scope{
		{"chat:write", "posts, edits and deletes the assistant's messages, and shows that it works", true},
		{"files:write", "posts and deletes the assistant's files", true},
		{"files:read", "fetches members' files, and asks whether a posted file is in the chat", true},
		{"channels:history", "hears messages in public channels, and looks there whether a text arrived", false},
		{"groups:history", "the same in private channels", false},
		{"im:history", "the same in direct messages", false},
		{"mpim:history", "the same in direct messages of several", false},
		{"app_mentions:read", "hears mentions, also without the four before", false},
		{"commands", "hears " + decode.CommandName + " stop, new, status and help", false},
		{"channels:read", "lists public channels, and hears who joins and leaves", false},
		{"groups:read", "the same of private channels", false},
		{"im:read", "lists direct messages", false},
		{"mpim:read", "the same of several", false},
		{"users:read", "shows members by name", false},
		{"pins:read", "hears what members pin", false},
		{"reactions:read", "hears reactions, and takes the assistant's own back", false},
		{"reactions:write", "lets the assistant react, and shows that it works, outside threads", false},
	}
}

// missing returns the scopes that the bot token lacks: all, or those without which nothing works.
func (me *self) missing(all bool) (names []string) {
	for _, s := range Scopes() {
		if (all || s.Needed) && !slices.Contains(me.scopes(), s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Unpaired implements bot.Paired.
func (s *Slack) Unpaired() *link.Stop {
	return s.NotPaired(!s.settings.BotToken.IsZero() && !s.settings.AppToken.IsZero())
}

// Me implements bot.Paired.
func (s *Slack) Me(ctx context.Context) (string, error) {
	me, err := s.api.slack.AuthTestContext(ctx)
	if err = s.api.refusal(err); err == nil && !decode.IsID(me.UserID) { // each message would be taken for one to it
		err = link.Lost(platformName, errors.New("it does not say who the bot is"))
	}
	if err != nil {
		return "", fmt.Errorf("the bot_token: %w", bot.ForCommand(err, "slack.com"))
	}
	s.self.Store((*self)(me))
	return channel.CleanName(me.User) + " in " + channel.CleanName(me.Team), nil
}

// appToken returns what is wrong with the app-level token.
func (s *Slack) appToken(ctx context.Context) error {
	if _, err := s.socket(ctx); err != nil {
		return fmt.Errorf("the app_token, which needs connections:write: %w", bot.ForCommand(err, "slack.com"))
	}
	return nil
}

// Show implements bot.Paired.
func (s *Slack) Show(ctx context.Context, p channel.Pairing) error {
	me := s.self.Load()
	for _, scope := range Scopes() {
		state := "ok     "
		if !slices.Contains(me.scopes(), scope.Name) {
			state = "MISSING"
		}
		p.Say("  %s %-18s %s", state, scope.Name, scope.Why)
	}
	if len(me.missing(true)) > 0 {
		p.Say("  of what is missing: %s", addScope)
	}
	if err := s.appToken(ctx); err != nil {
		return err
	}
	p.Say("app token: ok")
	p.Say("Slack does not say whether Interactivity is on, which the buttons of questions need: see under Interactivity & Shortcuts of the app")
	if missing := me.missing(false); len(missing) > 0 {
		return fmt.Errorf("the app lacks %s: %s", strings.Join(missing, ", "), addScope)
	}
	return nil
}

// Chats implements channel.Lister: the channels and direct messages that the bot is in.
func (s *Slack) Chats(ctx context.Context) ([]channel.Chat, error) {
	var all []channel.Chat
	args := &slackgo.GetConversationsParameters{Types: []string{"public_channel", "private_channel", "mpim", "im"}, Limit: 1000, ExcludeArchived: true}
	for range 20 { // pages
		page, next, err := s.api.slack.GetConversationsContext(ctx, args)
		if err != nil {
			return nil, s.api.refusal(err)
		}
		for i := range page {
			if one, ok := s.chat(ctx, &page[i]); ok {
				all = append(all, one)
			}
		}
		if args.Cursor = next; next == "" {
			break
		}
	}
	channel.SortChats(all)
	return all, nil
}

// chat returns a chat for Chats; false if the bot is not in it.
func (s *Slack) chat(ctx context.Context, c *slackgo.Channel) (channel.Chat, bool) {
	jid, err := groups.ParseJID("slack:" + c.ID)
	if err != nil || !decode.Owns(jid) || !c.IsMember && !c.IsIM {
		return channel.Chat{}, false
	}
	one := channel.Chat{JID: jid, Name: channel.CleanName("#" + c.Name), Members: c.NumMembers}
	switch {
	case c.IsIM:
		one.Name, one.Members = s.nameOf(ctx, c.User), 2
		one.Note = "direct message"
	case c.IsMpIM:
		one.Note = "direct message of several"
	case c.IsPrivate:
		one.Note = "private"
	}
	return one, true
}

// Examine implements channel.Platform: it asks Slack about the tokens, the scopes and the groups' chats.
func (p platform) Examine(ctx context.Context, setup channel.Setup, running bool) []finding.Finding {
	s, err := newOf(setup, p.net)
	return p.Kind.Examine(ctx, setup, s, err, running)
}

// Look implements bot.Paired.
func (s *Slack) Look(ctx context.Context, _ bool, found bot.Found) {
	if err := s.appToken(ctx); err != nil {
		found(finding.Fault, err.Error(), channel.HintOf(err))
	}
	for _, scope := range Scopes() {
		if slices.Contains(s.self.Load().scopes(), scope.Name) {
			continue
		}
		severity := finding.Warning
		if scope.Needed {
			severity = finding.Fault
		}
		found(severity, "the app lacks "+scope.Name+", which "+scope.Why, addScope)
	}
	for _, c := range s.Served() {
		if err := s.writable(ctx, c.JID); err != nil {
			found(finding.Warning, string(c.JID)+": "+err.Error(), channel.HintOf(err))
		}
	}
}

// writable returns why the bot cannot write to a chat; nil if it can.
func (s *Slack) writable(ctx context.Context, chat groups.JID) error {
	c, err := s.api.slack.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: decode.IDOf(chat)})
	switch {
	case err != nil:
		return s.api.refusal(err)
	case c.IsArchived:
		return s.api.Refuse(webapi.Word{Said: "is_archived"})
	case !c.IsMember && !c.IsIM:
		return s.api.Refuse(webapi.Word{Said: "not_in_channel"})
	}
	return nil
}
