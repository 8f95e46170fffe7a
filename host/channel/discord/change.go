package discord

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/emoji"
)

// change enters and calls do with the path of the message that c changes. kind names the change.
// A missing right is Permanent here, so that it does not hold up the chat's messages.
func (d *Discord) change(ctx context.Context, kind string, c channel.Change, do func(ctx context.Context, path string) error) error {
	ctx, _, leave, err := d.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !isID(c.Target) {
		return &channel.Error{Class: channel.Permanent, Code: "unknown_message", Message: "Discord does not have the message", Hint: "send another message"}
	}
	key := c.Chat + groups.JID(" "+kind)
	err = d.denied.of(key)
	if err == nil {
		var to string
		if to, _, err = d.threadOf(ctx, channel.Message{Chat: c.Chat, Thread: c.Thread}); err == nil {
			err = d.denied.note(key, do(ctx, "channels/"+to+"/messages/"+c.Target))
		}
	}
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
		in := struct {
			Text    string  `json:"content"`
			Allowed allowed `json:"allowed_mentions"`
		}{c.Text, allowed{Parse: []string{}}}
		return d.api.call(ctx, http.MethodPatch, path, in, nil)
	})
}

// Unsend implements channel.Unsender; a message that is gone already is no error.
func (d *Discord) Unsend(ctx context.Context, c channel.Change) error {
	return d.change(ctx, "unsend", c, func(ctx context.Context, path string) error {
		if err := d.api.call(ctx, http.MethodDelete, path, nil, nil); !hasCode(err, 10008) {
			return err
		}
		return nil
	})
}

// React implements channel.Reactor. On Discord the bot may have several reactions to a message;
// React removes all but the one.
func (d *Discord) React(ctx context.Context, c channel.Change) error {
	err := d.change(ctx, "react", c, func(ctx context.Context, path string) error {
		if c.Emoji != "" {
			if err := d.api.call(ctx, http.MethodPut, path+"/reactions/"+url.PathEscape(c.Emoji)+"/@me", nil, nil); err != nil {
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
		if err := d.api.call(ctx, http.MethodGet, path, nil, &there); err != nil {
			if hasCode(err, 10008) && c.Emoji == "" {
				return nil
			}
			return err
		}
		for _, r := range there.Reactions {
			if !r.Me || r.Emoji.ID != "" || r.Emoji.Name == c.Emoji {
				continue
			}
			err := d.api.call(ctx, http.MethodDelete, path+"/reactions/"+url.PathEscape(r.Emoji.Name)+"/@me", nil, nil)
			if err != nil && !hasCode(err, 10008, 10014) {
				return err
			}
		}
		return nil
	})
	return emoji.Hint(err, c.Emoji, emoji.IsOne)
}
