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
		return d.polls.Receive(ctx, d.Open(), in, msg, of.Poll, of.Choice, msg.Thread+"/"+msg.Target)
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
func (d *Discord) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	var of own
	return d.FetchBy(ctx, f, &of, func(ctx context.Context, open *bot.Open, in channel.Inbound, file channel.Attachment) (io.ReadCloser, error) {
		id, _ := bot.CutRef(f.Ref)
		message, speed := in.ID, transfer.SpeedFor(f.Patient)
		if !slices.Contains(in.Files, file) {
			message = in.Quote.ID
		}
		body, err := open.Scratch.Get(ctx, d.api.files, d.api.at(of.URLs[id]), maxFile, speed)
		if channel.ClassOf(err) == channel.Permanent {
			if fresh := d.freshURL(ctx, of.Channel, message, id); fresh != "" && fresh != of.URLs[id] {
				body, err = open.Scratch.Get(ctx, d.api.files, d.api.at(fresh), maxFile, speed)
			}
		}
		return body, err
	})
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
