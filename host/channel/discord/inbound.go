package discord

import (
	"cmp"
	"context"
	"io"
	"time"

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
	ev, err := readEvent(m.Body)
	if err != nil {
		d.Log.Warn("an event of the journal cannot be read: it comes in as words", "error", err)
		return in.Receive(ctx, bot.Unreadable(m, d.directory.name(m.Sender, "")))
	}
	msg := ev.inbound(m)
	if ev.Kind == channel.KindVote {
		press := bot.Press{Chat: m.Chat, Poll: ev.Poll, Choice: ev.Choice, Member: ev.Sender, Name: ev.Name, Event: m.ID}
		choices, counted, err := d.polls.Vote(ctx, d.Open(), press)
		if err != nil || !counted {
			return err
		}
		msg.Choices = choices
		defer d.polls.Changed(ev.Poll, m.Chat, ev.Thread+"/"+ev.Target)
	}
	return in.Receive(ctx, msg)
}

// inbound returns the event for the host.
func (ev *event) inbound(m journal.Inbound) channel.Inbound {
	in := channel.Inbound{
		Kind: ev.Kind, ID: m.ID, Chat: m.Chat, Thread: ev.Thread, From: ev.Name, Sender: ev.Sender, Role: ev.Role, Time: time.UnixMilli(ev.UnixMsec),
		Target: ev.Target, Text: ev.Text, Direct: ev.Direct, Emoji: ev.Emoji, Command: ev.Command, Told: ev.Told, Forwarded: ev.Forward,
	}
	in.Files = attachments(ev.Files, m)
	if q := ev.Quote; q != nil {
		in.Quote = &channel.Quote{ID: q.ID, From: q.Name, Sender: q.Sender, Text: q.Text, Own: q.Own, Forwarded: q.Forward, Files: attachments(q.Files, m)}
	}
	if ev.Kind == channel.KindMembership {
		who := []channel.Person{{Name: ev.Name, Sender: ev.Sender}}
		in.From, in.Sender = "", ""
		if ev.Joined {
			in.Joined = who
		} else {
			in.Left = who
		}
	}
	return in
}

func attachments(files []attachment, m journal.Inbound) (all []channel.Attachment) {
	for _, f := range files {
		kind := media.KindByName(f.Name)
		if f.Wave != "" {
			kind = media.Voice
		}
		info := media.Claimed(kind, f.Name, f.MIME, uint64(max(0, f.Size)), m.Received)
		all = append(all, channel.Attachment{Info: info, Ref: bot.Ref(f.ID, m.Ref())})
	}
	return all
}

// Fetch implements channel.Fetcher, from Discord's file server. The Ref is Discord's id of the file
// and the Ref of its message. An address expires after a day; then Discord is asked for a new one.
func (d *Discord) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	ctx, open, leave, err := d.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	id, m, err := open.Kept(ctx, f)
	if err != nil {
		return nil, err
	}
	ev, err := readEvent(m.Body)
	if err != nil {
		return nil, channel.Unfetchable("the message cannot be read any more")
	}
	message, address := m.ID, urlOf(ev.Files, id)
	if address == "" && ev.Quote != nil {
		message, address = ev.Quote.ID, urlOf(ev.Quote.Files, id)
	}
	if address == "" {
		return nil, channel.Unfetchable("the message has no such file")
	}
	pace := transfer.SpeedFor(f.Patient)
	body, err := open.Scratch.Get(ctx, d.api.files, d.api.at(address), maxFile, pace)
	if channel.ClassOf(err) != channel.Permanent {
		return body, err
	}
	fresh := d.freshURL(ctx, ev.Channel, message, id)
	if fresh == "" || fresh == address {
		return nil, err
	}
	return open.Scratch.Get(ctx, d.api.files, d.api.at(fresh), maxFile, pace)
}

func urlOf(files []attachment, id string) string {
	for _, f := range files {
		if f.ID == id {
			return f.URL
		}
	}
	return ""
}

// freshURL asks for the present address of a file; empty if Discord does not say.
func (d *Discord) freshURL(ctx context.Context, channelID, messageID, id string) string {
	var data jsontext.Value
	err := d.api.call(ctx, "GET", "channels/"+channelID+"/messages/"+messageID, nil, &data)
	m, errRead := readMessage(data)
	if err = cmp.Or(err, errRead); err != nil {
		d.Log.Info("ask for a file's new address", "error", err)
		return ""
	}
	return urlOf(m.files(), id)
}
