package slack

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// give hands a kept event to the host.
func (s *Slack) give(ctx context.Context, in channel.Inbox, m journal.Inbound) error {
	ev, err := decode(m.Body)
	if err != nil || ev == nil { // another version kept it
		s.Log.Warn("drop an event that cannot be read any more", "error", err)
		return nil
	}
	if s.member(ctx, ev.sender).bot { // Slack does not name the app with everything that it posts
		return nil
	}
	msg, err := s.inbound(ctx, ev, m)
	if err != nil {
		return err
	}
	if ev.kind == channel.KindMessage && ev.command == "" {
		s.signs.heard(ev.chat, ev.ts, msg.Thread)
	}
	if ev.kind == channel.KindVote {
		counted := false
		if msg.Choices, counted, err = s.polls.Vote(ctx, s.Open(), bot.Press{Chat: ev.chat, Poll: ev.poll, Choice: ev.choice, Member: ev.sender, Name: msg.From, Event: m.ID}); err != nil || !counted {
			return err
		}
		defer s.polls.Changed(ev.poll, ev.chat, ev.target)
	}
	return in.Receive(ctx, msg)
}

// inbound is an event for the host, with names for ids.
func (s *Slack) inbound(ctx context.Context, ev *event, m journal.Inbound) (channel.Inbound, error) {
	in := channel.Inbound{
		Kind: ev.kind, ID: m.ID, Chat: ev.chat, Thread: ev.thread, Sender: ev.sender, Time: ev.at, Target: ev.target,
		Text: s.readable(ctx, ev.text), From: s.nameOf(ctx, ev.sender), Emoji: s.emojis.char(ev.emoji),
		Role: s.roleIn(ctx, ev.chat, ev.sender), Command: cmp.Or(ev.command, s.mentioned(ev.text)),
	}
	if in.Time.IsZero() {
		in.Time = m.Received
	}
	switch ev.kind {
	case channel.KindMessage:
		direct, err := s.direct(ctx, ev)
		if err != nil {
			return in, err
		}
		if in.Direct = direct; direct && in.Thread == "" && !private(ev) {
			in.Thread = ev.ts // the answer begins a thread below it
		}
		if direct {
			in.Quote = s.quote(ctx, ev, m.Received)
		}
		for _, f := range ev.files {
			in.Files = append(in.Files, channel.Attachment{Info: f.info(m.Received), Ref: bot.Ref(f.ID, m.Ref())})
		}
	case channel.KindMembership:
		who := []channel.Person{{Name: in.From, Sender: ev.sender}}
		in.Sender, in.From = ev.inviter, s.nameOf(ctx, ev.inviter)
		if ev.joined {
			in.Joined = who
		} else {
			in.Left = who
		}
	}
	return in, nil
}

// private says whether the chat is a direct message.
func private(ev *event) bool { return strings.HasPrefix(idOf(ev.chat), "D") }

// direct says whether a message speaks to the assistant without its trigger word:
// by a mention, in a direct message, or in a thread where the assistant spoke.
func (s *Slack) direct(ctx context.Context, ev *event) (bool, error) {
	me := s.self.Load()
	if private(ev) || me != nil && (ev.parent == me.user || strings.Contains(ev.text, "<@"+me.user+">") || strings.Contains(ev.text, "<@"+me.user+"|")) {
		return true, nil
	}
	open := s.Open()
	if open == nil {
		return false, nil
	}
	return s.threads.spokenIn(ctx, open.Journal, ev.chat, ev.thread)
}

func (f *file) info(at time.Time) media.Info {
	name := cmp.Or(f.Name, f.Title)
	kind := media.KindByName(name)
	if f.Subtype == "slack_audio" {
		kind = media.Voice
	}
	return media.Claimed(kind, name, f.MIME, uint64(max(0, f.Size)), at)
}

// Fetch brings a member's file, from Slack's file server and with the token. Its
// Ref is Slack's id of it and its message's own Ref.
func (s *Slack) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	ctx, open, leave, err := s.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if id, ref := bot.CutRef(f.Ref); ref == quotedRef {
		return s.fetchQuoted(ctx, open.Scratch, f.Chat, id, f.Patient)
	}
	id, m, err := open.Kept(ctx, f)
	if err != nil {
		return nil, err
	}
	ev, err := decode(m.Body)
	if err != nil || ev == nil {
		return nil, channel.Unfetchable("the message cannot be read any more")
	}
	i := slices.IndexFunc(ev.files, func(f file) bool { return f.ID == id })
	if i < 0 {
		return nil, channel.Unfetchable("the message has no such file")
	}
	return s.download(ctx, open.Scratch, ev.files[i], f.Patient)
}

func (s *Slack) download(ctx context.Context, scratch *transfer.Scratch, f file, patient bool) (io.ReadCloser, error) {
	switch {
	case f.External || f.Mode == "external":
		return nil, channel.Unfetchable("it lies outside Slack")
	case f.Mode == "tombstone":
		return nil, channel.Unfetchable("it was deleted in Slack")
	case f.Mode == "hidden_by_limit":
		return nil, channel.Unfetchable("Slack hides it: the workspace's plan keeps no older files")
	}
	if f.URL == "" { // of another workspace in a shared channel
		all, _, _, err := s.web.api.GetFileInfoContext(ctx, f.ID, 1, 1)
		if err != nil {
			return nil, unfetched(asked(err))
		}
		f.URL, f.MIME = all.URLPrivate, all.Mimetype
	}
	body, err := scratch.Get(ctx, s.web.files, f.URL, maxFile, transfer.PaceFor(patient))
	if err != nil {
		return nil, err
	}
	if signIn(body, f) {
		_ = body.Close()
		return nil, channel.Unfetchable("Slack does not give it to the app: the scope files:read is missing, or somebody restricted the file")
	}
	return body, nil
}

// unfetched is the error of a question about a file, which is for good if the file
// is gone.
func unfetched(err error) error {
	if channel.ClassOf(err) == channel.Permanent {
		return channel.Unfetchable("Slack does not have it any more")
	}
	return err
}

// signIn says whether Slack's sign-in page came instead of a file.
func signIn(body io.ReadCloser, f file) bool {
	r, ok := body.(io.ReadSeeker)
	if !ok || f.MIME == "text/html" {
		return false
	}
	head := make([]byte, 512)
	n, _ := io.ReadFull(r, head)
	_, err := r.Seek(0, io.SeekStart)
	return err != nil || strings.HasPrefix(http.DetectContentType(head[:n]), "text/html") && f.Size != sizeOf(r)
}

func sizeOf(r io.Seeker) int64 {
	n, err := r.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return -1
	}
	return n
}
