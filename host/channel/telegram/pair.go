package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// privacy is what privacy mode means.
const privacy = "privacy mode hides what does not speak to the bot: turn it off with @BotFather, /setprivacy, and add the bot again, or make the bot an admin"

// Account implements channel.Linker.
func (platform) Account() channel.Account {
	return channel.Account{
		Pair: "make a Telegram bot, check its token, and find a chat's id",
		About: `telegram says how to get a bot from @BotFather while the channel has no token. Then
it checks the token, and waits two minutes for a message, whose chat's id it names. With
--to it sends a small file to a chat instead.`,
	}
}

// Guide implements channel.Linker: how a bot is made.
func (platform) Guide(name string) string {
	return `1. In Telegram, write /newbot to https://t.me/BotFather. It asks for a name and gives you the bot's token.
2. longshore.yaml holds ${NAME} and the environment the token: token of channels.` + name + `. Or token_file names a file.
3. If the bot is to hear everything in groups, write /setprivacy to BotFather and choose Disable.
4. Run this command again.`
}

// Link implements channel.Linker.
func (platform) Link(ctx context.Context, c channel.Channel, p channel.Pairing) (string, error) {
	return c.(*Telegram).pair(ctx, p)
}

func (t *Telegram) noToken() error {
	return &channel.Error{Class: channel.Held, Code: "telegram_no_token", Message: "the Telegram bot has no token",
		Hint: "run longshore pair " + t.Name() + ", which says how to get one"}
}

// pair checks what the channel needs, and finds the id of a chat or sends a test file.
func (t *Telegram) pair(ctx context.Context, p channel.Pairing) (string, error) {
	defer t.api.client.CloseIdleConnections()
	if t.settings.Token.Reveal() == "" {
		channel.SayLines(p, platform{}.Guide(t.Name()))
		return "", errors.New("the channel has no token yet")
	}
	if p.To != "" && !t.Owns(p.To) {
		return "", fmt.Errorf("%q is no chat of Telegram: write tg: and the chat's number, such as tg:-1001234567890", p.To)
	}
	var me user
	if err := t.askShort(ctx, "getMe", struct{}{}, &me); err != nil {
		return "", fmt.Errorf("token: %w", bot.ForCommand(err, t.settings.Server))
	}
	name := "@" + channel.CleanName(me.Name)
	p.Say("token: %s", name)
	if !me.SeesGroup {
		p.Say("  %s", privacy)
	}
	if p.To != "" {
		return name, t.test(ctx, p)
	}
	return name, t.find(ctx, name, p)
}

// test sends a small file to a chat.
func (t *Telegram) test(ctx context.Context, p channel.Pairing) error {
	m := bot.TestMessage(p.To)
	r, err := t.deliver(ctx, nil, m)
	if err != nil {
		return fmt.Errorf("send a test file: %w", err)
	}
	p.Say("the chat has a test file")
	if r.Note != "" {
		p.Say("  %s", r.Note)
	}
	return nil
}

// findFor is how long pair waits for a message.
const findFor = 2 * time.Minute

// find names the chats from which updates come. They stay with Telegram, for the host.
func (t *Telegram) find(ctx context.Context, name string, p channel.Pairing) error {
	var hook webhook
	if err := t.askShort(ctx, "getWebhookInfo", struct{}{}, &hook); err != nil {
		return err
	}
	if hook.URL != "" && hook.URL == t.settings.Webhook {
		p.Say("updates go to the host's webhook: write to the bot while the host runs, and its log names the chat")
		return nil
	}
	if hook.URL != "" {
		return refused(&word{code: 409, text: "a webhook is set"}, 0)
	}
	if p.Running {
		p.Say("the host runs and hears the bot: write to it, and the host's log names the chat")
		return nil
	}
	p.Say("write to %s, or add it to a group and write %s there; this waits two minutes", name, name)
	until, end := context.WithTimeout(ctx, findFor)
	defer end()
	for until.Err() == nil {
		var all []json.RawMessage
		err := t.api.ask(until, "getUpdates", map[string]any{"timeout": polling, "allowed_updates": heard}, &all)
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
	p.Say("nobody wrote. A test file goes to a chat with: --to CHAT")
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
		switch {
		case u.Message != nil:
			c = u.Message.Chat
		case u.Mine != nil:
			c = u.Mine.Chat
		}
		if c.ID == 0 || once[c.ID] {
			continue
		}
		once[c.ID], named = true, true
		p.Say("  %-24s %s", chatOf(c.ID), channel.CleanName(cmp.Or(c.Title, c.First)))
	}
	if named {
		p.Say("name one as chat of a group in longshore.yaml; a test file goes there with: --to CHAT")
	}
	return named
}

func remedyOf(err error) string {
	var e *channel.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
