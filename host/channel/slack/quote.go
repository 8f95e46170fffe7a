package slack

import (
	"context"
	"io"
	"slices"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

const (
	maxQuote  = 4000     // characters of a quoted text
	quotedRef = "parent" // in the Ref of a file that Slack is asked about
)

// quote is the message that a thread is below, if it has files: a member who calls
// the assistant there mostly means them. Nil once the assistant has spoken in the
// thread, and if Slack does not say: then the message comes in without it.
func (s *Slack) quote(ctx context.Context, ev *event, received time.Time) *channel.Quote {
	open := s.Open()
	if ev.thread == "" || ev.thread == ev.ts || open == nil {
		return nil
	}
	if spoken, err := s.threads.spokenIn(ctx, open.Journal, ev.chat, ev.thread); spoken || err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	m, err := s.message(ctx, channel.Change{Chat: ev.chat, Target: ev.thread})
	if err != nil {
		s.Log.Info("ask for the message that a thread is below", "error", err)
		return nil
	}
	if len(m.Files) == 0 || m.User != "" && !slackID.MatchString(m.User) {
		return nil
	}
	q := &channel.Quote{ID: ev.thread, Sender: m.User, From: s.nameOf(ctx, m.User), Text: media.Cut(s.readable(ctx, m.Text), maxQuote)}
	if me := s.self.Load(); me != nil && m.User == me.user {
		q.Own, q.Sender = true, ""
	}
	ref := quotedRef
	if kept, err := open.Journal.Inbound(ctx, ev.chat, ev.thread, m.User); err == nil && kept != nil {
		ref = kept.Ref() // the same as when the message itself came in
	}
	for _, f := range m.Files[:min(len(m.Files), maxInFiles)] {
		if slackID.MatchString(f.ID) {
			in := quoted(&f)
			q.Files = append(q.Files, channel.Attachment{Info: in.info(received), Ref: bot.Ref(f.ID, ref)})
		}
	}
	return q
}

func quoted(f *slackgo.File) file {
	return file{ID: f.ID, Name: f.Name, Title: f.Title, MIME: f.Mimetype, Size: int64(f.Size), Mode: f.Mode, URL: f.URLPrivate, External: f.IsExternal}
}

// fetchQuoted brings a file of a quoted message, if that chat has it.
func (s *Slack) fetchQuoted(ctx context.Context, scratch *transfer.Scratch, chat groups.JID, id string, patient bool) (io.ReadCloser, error) {
	if !slackID.MatchString(id) {
		return nil, channel.Unfetchable("the message has no such file")
	}
	f, _, _, err := s.web.api.GetFileInfoContext(ctx, id, 1, 1)
	if err != nil {
		return nil, unfetched(asked(err))
	}
	at := idOf(chat)
	shares := append(f.Shares.Public[at], f.Shares.Private[at]...)
	if len(shares) == 0 && !slices.Contains(slices.Concat(f.Channels, f.Groups, f.IMs), at) {
		return nil, channel.Unfetchable("the chat does not have it any more")
	}
	return s.download(ctx, scratch, quoted(f), patient)
}
