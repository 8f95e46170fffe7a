package discord

import (
	"context"
	"errors"
	"net/url"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// change enters and calls do with the path of the message that c changes. kind names the change.
// A missing right is Permanent here, so that it does not hold up the chat's messages.
func (d *Discord) change(ctx context.Context, kind string, c channel.Change, do func(ctx context.Context, path string) error) error {
	err := d.Within(ctx, func(ctx context.Context, _ *bot.Open) error {
		key := c.Chat + groups.JID(" "+kind)
		if !isID(c.Target) {
			return d.api.Refuse(webapi.Word{Code: 10008, Said: "no message"})
		} else if err := d.Barred.Of(key); err != nil {
			return err
		}
		to, _, err := d.threadOf(ctx, channel.Message{Chat: c.Chat, Thread: c.Thread})
		if err != nil {
			return err
		}
		return d.Barred.Note(key, do(ctx, "channels/"+to+"/messages/"+c.Target))
	})
	if e, ok := errors.AsType[*channel.Error](err); ok && e.Code == "discord_right_missing" {
		mine := *e
		mine.Class = channel.Permanent
		return &mine
	}
	return err
}

// Edit implements channel.Editor. The message keeps its files.
func (d *Discord) Edit(ctx context.Context, c channel.Change) error {
	return d.change(ctx, "edit", c, func(ctx context.Context, path string) error {
		if err := d.Open().Editable(ctx, c.Chat, c.Target); err != nil {
			return err
		}
		return d.api.Ask(ctx, "PATCH", path, map[string]any{"content": c.Text, "allowed_mentions": nobody}, nil)
	})
}

// Unsend implements channel.Unsender; a message that is gone already is no error.
func (d *Discord) Unsend(ctx context.Context, c channel.Change) error {
	return d.change(ctx, "unsend", c, func(ctx context.Context, path string) error {
		return webapi.Unless(d.api.Ask(ctx, "DELETE", path, nil, nil), "10008")
	})
}

// React implements channel.Reactor. On Discord the bot may have several reactions to a message;
// React removes all but the one.
func (d *Discord) React(ctx context.Context, c channel.Change) error {
	err := d.change(ctx, "react", c, func(ctx context.Context, path string) error {
		if c.Emoji != "" {
			if err := d.api.Ask(ctx, "PUT", path+"/reactions/"+url.PathEscape(c.Emoji)+"/@me", nil, nil); err != nil {
				return err
			}
		}
		var there struct {
			Reactions []struct {
				Me    bool `json:"me"`
				Emoji struct {
					ID   string `json:"id"`
					Name string `json:"name"`
				} `json:"emoji"`
			} `json:"reactions"`
		}
		err := d.api.Ask(ctx, "GET", path, nil, &there)
		if c.Emoji == "" {
			err = webapi.Unless(err, "10008")
		}
		if err != nil {
			return err
		}
		for _, r := range there.Reactions {
			if !r.Me || r.Emoji.ID != "" || r.Emoji.Name == c.Emoji {
				continue
			}
			if err := webapi.Unless(d.api.Ask(ctx, "DELETE", path+"/reactions/"+url.PathEscape(r.Emoji.Name)+"/@me", nil, nil), "10008|10014"); err != nil {
				return err
			}
		}
		return nil
	})
	return emoji.Hint(err, c.Emoji, emoji.IsOne)
}
