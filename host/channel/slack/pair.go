package slack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Manifest is the app's, to be pasted at api.slack.com/apps.
//
//go:embed manifest.yaml
var Manifest string

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

func (s Scope) needed() bool { return s.Needed }

// missing returns the scopes that the bot token lacks, of those that count.
func (me *self) missing(counts func(Scope) bool) (names []string) {
	for _, s := range Scopes() {
		if counts(s) && !slices.Contains(me.scopes, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// Account implements channel.Linker.
func (platform) Account() channel.Account {
	return channel.Account{
		Pair: "make a Slack app, check its tokens, and send a test file",
		About: `slack prints what to paste at api.slack.com/apps while the channel has no tokens.
Then it checks both tokens and every permission of the app. With --to it sends a
small file to a chat; longshore groups list shows those that the app is in.`,
	}
}

// Link implements channel.Linker.
func (platform) Link(ctx context.Context, c channel.Channel, p channel.Pairing) (string, error) {
	return c.(*Slack).pair(ctx, p)
}

// addScope says how to add a scope.
const addScope = "add it under OAuth & Permissions, Bot Token Scopes, and click Reinstall to Workspace"

// pair checks everything that the channel needs, and says what is missing.
func (s *Slack) pair(ctx context.Context, p channel.Pairing) (string, error) {
	if s.api.bot == "" || s.settings.AppToken.IsZero() {
		channel.SayLines(p, platform{}.Guide(s.Name()))
		return "", errors.New("the channel has no tokens yet")
	}
	if p.To != "" && !s.Owns(p.To) {
		return "", fmt.Errorf("%q is no chat of Slack: write slack: and the channel's id, such as slack:C024BE91L", p.To)
	}
	me, err := s.ask(ctx)
	if err != nil {
		return "", fmt.Errorf("bot_token: %w", hinted(err, "take the bot token, xoxb-…, under OAuth & Permissions of the app at api.slack.com/apps, after Reinstall to Workspace"))
	}
	p.Say("bot token: %s in %s", me.name, me.workspace)
	for _, scope := range Scopes() {
		state := "ok     "
		if !slices.Contains(me.scopes, scope.Name) {
			state = "MISSING"
		}
		p.Say("  %s %-18s %s", state, scope.Name, scope.Why)
	}
	if len(me.missing(func(Scope) bool { return true })) > 0 {
		p.Say("  of what is missing: %s", addScope)
	}
	if _, _, err := s.api.slackgo.StartSocketModeContext(ctx); err != nil {
		return "", fmt.Errorf("app_token, which needs connections:write: %w", hinted(apiError(err), "take an app-level token with connections:write, xapp-…, under Basic Information of the app at api.slack.com/apps"))
	}
	p.Say("app token: ok")
	p.Say("Slack does not say whether Interactivity is on, which the buttons of questions need: see under Interactivity & Shortcuts of the app")
	if missing := me.missing(Scope.needed); len(missing) > 0 {
		return "", fmt.Errorf("the app lacks %s: %s", strings.Join(missing, ", "), addScope)
	}
	return me.name + " in " + me.workspace, s.test(ctx, p)
}

// Guide implements channel.Linker: how an app is made.
func (platform) Guide(name string) string {
	return `1. At https://api.slack.com/apps choose Create New App, From a manifest, your workspace, YAML, and paste:

` + Manifest + `
2. Install the app. Its bot token, xoxb-…, is under OAuth & Permissions: bot_token of channels.` + name + `.
3. Under Basic Information, App-Level Tokens, make one with connections:write, xapp-…: app_token.
   longshore.yaml holds ${NAME} and the environment the token, or bot_token_file and app_token_file name files.
4. Run this command again.`
}

// hinted is bot.ForCommand for an error of Slack. If a token is wrong, the hint is token, since the
// host's hint is to run this command.
func hinted(err error, token string) error {
	var e *channel.Error
	if !errors.As(err, &e) || !slices.Contains([]string{"slack_token_refused", "slack_token_revoked", "slack_scope_missing"}, e.Code) {
		return bot.ForCommand(err, "slack.com")
	}
	mine := *e
	mine.Hint = token
	return &mine
}

// test sends a file to a chat, if one is named.
func (s *Slack) test(ctx context.Context, p channel.Pairing) error {
	if p.To == "" {
		p.Say("a test file goes to a chat with: --to CHAT")
		return nil
	}
	m := bot.TestMessage(p.To)
	r, _, err := s.deliver(ctx, m)
	if err != nil {
		return fmt.Errorf("send a test file: %w", hinted(err, addScope))
	}
	if r.Pending {
		return errors.New("send a test file: Slack took it, and does not show it in the chat")
	}
	p.Say("the chat has a test file")
	return nil
}

const (
	maxChatPages = 20
	chatsOfPage  = 1000
)

// Chats implements channel.Lister: the channels and direct messages that the bot is in.
func (s *Slack) Chats(ctx context.Context) ([]channel.Chat, error) {
	var all []channel.Chat
	ask := &slackgo.GetConversationsParameters{Types: []string{"public_channel", "private_channel", "mpim", "im"}, Limit: chatsOfPage, ExcludeArchived: true}
	for range maxChatPages {
		page, next, err := s.api.slackgo.GetConversationsContext(ctx, ask)
		if err != nil {
			return nil, apiError(err)
		}
		for i := range page {
			if one, ok := s.chat(ctx, &page[i]); ok {
				all = append(all, one)
			}
		}
		if ask.Cursor = next; next == "" {
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
func (p platform) Examine(ctx context.Context, setup channel.Setup, _ bool) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	e := channel.Examination{Channel: setup.Name}
	s, err := newOf(setup, p.net)
	if err != nil {
		e.Found(finding.Fault, err.Error(), "")
		return e.All
	}
	defer s.api.close()
	if stop := s.NotPaired(s.api.bot != "" && !s.settings.AppToken.IsZero()); stop != nil {
		e.Found(finding.Warning, stop.Message, stop.Hint)
		return e.All
	}
	me, err := s.ask(ctx)
	if err != nil {
		e.Found(finding.Fault, "the bot token: "+err.Error(), channel.HintOf(err))
		return e.All
	}
	if _, _, err := s.api.slackgo.StartSocketModeContext(ctx); err != nil {
		e.Found(finding.Fault, "the app token, which needs connections:write: "+apiError(err).Error(), channel.HintOf(apiError(err)))
	}
	for _, scope := range Scopes() {
		if slices.Contains(me.scopes, scope.Name) {
			continue
		}
		severity := finding.Warning
		if scope.Needed {
			severity = finding.Fault
		}
		e.Found(severity, "the app lacks "+scope.Name+", which "+scope.Why, addScope)
	}
	for _, c := range setup.Chats {
		if err := s.writable(ctx, c.JID); err != nil {
			e.Found(finding.Warning, string(c.JID)+": "+err.Error(), channel.HintOf(err))
		}
	}
	if len(e.All) == 0 {
		e.Found(finding.Fine, "connects as "+me.name+" in "+me.workspace, "")
	}
	return e.All
}

// writable returns why the bot cannot write to a chat; nil if it can.
func (s *Slack) writable(ctx context.Context, chat groups.JID) error {
	c, err := s.api.slackgo.GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{ChannelID: decode.IDOf(chat)})
	switch {
	case err != nil:
		return apiError(err)
	case c.IsArchived:
		return refused("is_archived", "")
	case !c.IsMember && !c.IsIM:
		return refused("not_in_channel", "")
	}
	return nil
}
