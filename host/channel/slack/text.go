package slack

import (
	"cmp"
	"context"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/media"
)

// maxNames is how many names one text may ask Slack for.
const maxNames = 30

// readable returns a text of Slack as members see it, with names and addresses in place of
// references. Slack escapes every < that a member writes, so each < begins a reference.
func (s *Slack) readable(ctx context.Context, text string) string {
	var out strings.Builder
	asked := 0
	for {
		before, rest, found := strings.Cut(text, "<")
		out.WriteString(decode.Unescape(before))
		if !found {
			return out.String()
		}
		ref, after, closed := strings.Cut(rest, ">")
		if !closed {
			out.WriteString(decode.Unescape("<" + rest))
			return out.String()
		}
		if strings.HasPrefix(ref, "@") {
			asked++
		}
		out.WriteString(s.reference(ctx, ref, asked <= maxNames))
		text = after
	}
}

// reference returns what a reference shows. ask allows a question for a name.
func (s *Slack) reference(ctx context.Context, ref string, ask bool) string {
	target, label, _ := strings.Cut(ref, "|")
	label = decode.Unescape(label)
	switch {
	case strings.HasPrefix(target, "@"):
		if id := target[1:]; label == "" && ask && decode.IsID(id) {
			label = s.nameOf(ctx, id)
		}
		return "@" + cmp.Or(label, target[1:])
	case strings.HasPrefix(target, "#"):
		return "#" + cmp.Or(label, s.chatName(target[1:]))
	case strings.HasPrefix(target, "!"): // @here, a group of members, a date
		word, _, _ := strings.Cut(target[1:], "^")
		return cmp.Or(label, "@"+word)
	}
	target = decode.Unescape(strings.TrimPrefix(target, "mailto:"))
	if label == "" || label == target || "http://"+label == target || "https://"+label == target {
		return target
	}
	return label + " (" + target + ")"
}

// chatName returns the operator's name for a chat, or its id.
func (s *Slack) chatName(id string) string {
	for _, c := range s.Served() {
		if c.JID == decode.ChatOf(id) && c.Name != "" {
			return c.Name
		}
	}
	return id
}

const (
	maxQuote  = 4000     // characters of a quoted text
	quotedRef = "parent" // before the ts of a message, in the Ref of a file that Slack is asked about
)

// quote returns what a message answers: the parent message of its thread, or else the message that
// it links to. The parent comes with the first message of a thread and with each to the assistant,
// until the assistant has spoken there. quote returns nil if Slack does not say.
func (s *Slack) quote(ctx context.Context, ev *decode.Event, direct bool, m journal.Inbound) *channel.Quote {
	if q := s.parent(ctx, ev, direct, m); q != nil || ev.Quote == nil {
		return q
	}
	q := *ev.Quote
	q.Text = media.Cut(s.readable(ctx, q.Text), maxQuote)
	q.Files = s.attachments(ctx, ev.Quoted, m.Ref(), m.Received)
	return &q
}

func (s *Slack) parent(ctx context.Context, ev *decode.Event, direct bool, of journal.Inbound) *channel.Quote {
	open := s.Open()
	if ev.Thread == "" || ev.Thread == ev.TS || open == nil || !s.threads.first(ev.Chat, ev.Thread) && !direct {
		return nil
	}
	if spoken, err := s.threads.spokenIn(ctx, open.Journal, ev.Chat, ev.Thread); spoken || err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, nameWithin)
	defer cancel()
	m, err := s.message(ctx, channel.Change{Chat: ev.Chat, Target: ev.Thread})
	if err != nil {
		s.Log.Info("ask for the message that a thread is below", "error", err)
		return nil
	}
	if m.Subtype == "tombstone" || m.User != "" && !decode.IsID(m.User) {
		return nil
	}
	c := m.Content()
	q := &channel.Quote{ID: ev.Thread, Sender: m.User, From: cmp.Or(s.nameOf(ctx, m.User), channel.CleanName(m.Username)), Text: media.Cut(s.readable(ctx, c.Text), maxQuote), Forwarded: c.Forwarded}
	if me := s.self.Load(); me != nil && m.User == me.UserID {
		q.Own, q.Sender = true, ""
	}
	ref := quotedRef + " " + ev.Thread
	if kept, err := open.Journal.Inbound(ctx, ev.Chat, ev.Thread, m.User); err == nil && kept != nil {
		ref = kept.Ref() // the same as when the message itself came in
	}
	q.Files = s.attachments(ctx, c.Uploads, ref, of.Received)
	return q
}
