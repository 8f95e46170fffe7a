package discord

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// maxFile is the largest file that a member may send, with Nitro.
const maxFile = 500 << 20 // bytes

// Give implements bot.Hooks: it gives the host a kept event.
func (d *Discord) Give(ctx context.Context, in channel.Inbox, m journal.Inbound) error {
	var of own
	msg, err := bot.Decode(m, &of)
	if err != nil {
		d.Log.Warn("an event of the journal cannot be read: it comes in as words", "error", err)
		return in.Receive(ctx, bot.Unreadable(m, d.directory.name(m.Sender, "")))
	}
	if msg.Kind == channel.KindVote {
		press := bot.Press{Chat: m.Chat, Poll: of.Poll, Choice: of.Choice, Member: msg.Sender, Name: msg.From, Event: m.ID}
		choices, counted, err := d.polls.Vote(ctx, d.Open(), press)
		if err != nil || !counted {
			return err
		}
		msg.Choices = choices
		defer d.polls.Changed(of.Poll, m.Chat, msg.Thread+"/"+msg.Target)
	}
	return in.Receive(ctx, msg)
}

// attach returns files for the host, and records their addresses.
func (ev *event) attach(files []attachment) (all []channel.Attachment) {
	for _, f := range files {
		kind := media.KindByName(f.Name)
		if f.Wave != "" {
			kind = media.Voice
		}
		all = append(all, channel.Attachment{Info: media.Claimed(kind, f.Name, f.MIME, uint64(max(0, f.Size)), ev.Time), Ref: f.ID})
		if ev.URLs == nil {
			ev.URLs = map[string]string{}
		}
		ev.URLs[f.ID] = f.URL
	}
	return all
}

// Fetch implements channel.Fetcher, from Discord's file server. The Ref is Discord's id of the file
// and the Ref of its message. An address expires after a day; then Discord is asked for a new one.
func (d *Discord) Fetch(ctx context.Context, f channel.FileRef) (body io.ReadCloser, err error) {
	err = d.Within(ctx, func(ctx context.Context, open *bot.Open) error {
		id, m, err := open.Kept(ctx, f)
		if err != nil {
			return err
		}
		var of own
		in, err := bot.Decode(*m, &of)
		if err != nil {
			return channel.Unfetchable("the message cannot be read any more")
		}
		message, address := m.ID, of.URLs[id]
		if address == "" {
			return channel.Unfetchable("the message has no such file")
		}
		if !slices.ContainsFunc(in.Files, func(a channel.Attachment) bool { return a.Ref == f.Ref }) {
			message = in.Quote.ID
		}
		speed := transfer.SpeedFor(f.Patient)
		if body, err = open.Scratch.Get(ctx, d.api.files, d.api.at(address), maxFile, speed); channel.ClassOf(err) != channel.Permanent {
			return err
		}
		if fresh := d.freshURL(ctx, of.Channel, message, id); fresh != "" && fresh != address {
			body, err = open.Scratch.Get(ctx, d.api.files, d.api.at(fresh), maxFile, speed)
		}
		return err
	})
	return body, err
}

// freshURL asks for the present address of a file; empty if Discord does not say.
func (d *Discord) freshURL(ctx context.Context, channelID, messageID, id string) string {
	var data jsontext.Value
	err := d.api.Ask(ctx, "GET", "channels/"+channelID+"/messages/"+messageID, nil, &data)
	m, errRead := readMessage(data)
	if err = cmp.Or(err, errRead); err != nil {
		d.Log.Info("ask for a file's new address", "error", err)
		return ""
	}
	for _, f := range m.files() {
		if f.ID == id {
			return f.URL
		}
	}
	return ""
}
