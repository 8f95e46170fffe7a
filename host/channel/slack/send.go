package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
)

// metadataType names our metadata. With it, a text has its Message.ID.
const metadataType = "longshore_message"

// Send implements channel.Channel. Slack shows a file some time after it has taken it: Send asks
// for 6 seconds, and then returns a Pending receipt. A refusal has its class by the tables in
// errors.go; without an answer, the classes are those of transfer.Post.
func (s *Slack) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	ctx, open, leave, err := s.Begin(ctx, m)
	if err != nil {
		return channel.Receipt{}, err
	}
	defer leave()
	if err := open.KeepPoll(ctx, m); err != nil {
		return channel.Receipt{}, err
	}
	r, thread, err := s.deliver(ctx, m)
	if err == nil {
		s.posted(ctx, open, m, r, thread)
	}
	return r, s.note(m, err)
}

// posted records what the channel must know later of a message that the chat has.
func (s *Slack) posted(ctx context.Context, open *bot.Open, m channel.Message, r channel.Receipt, thread string) {
	err := s.threads.spoke(ctx, open.Journal, m.Chat, thread)
	if err = errors.Join(err, open.PlacePoll(ctx, m, r.ID)); err != nil {
		s.Log.Warn("note that the assistant spoke", "error", err)
	}
}

// deliver posts m, and returns the thread in which it is.
func (s *Slack) deliver(ctx context.Context, m channel.Message) (_ channel.Receipt, thread string, err error) {
	thread, err = s.threadOf(ctx, m)
	if err != nil {
		return channel.Receipt{}, "", err
	}
	var r channel.Receipt
	if len(m.Files) > 0 {
		r, err = s.share(ctx, m, &thread)
	} else {
		r, err = s.say(ctx, m, &thread)
	}
	return r, thread, err
}

// threadOf returns the thread that m goes to; empty: the chat itself. An answer goes into the
// thread of the message that it answers, or begins one below that message.
func (s *Slack) threadOf(ctx context.Context, m channel.Message) (thread string, err error) {
	if m.Thread != "" {
		if !decode.IsTimestamp(m.Thread) {
			return "", formGone(channel.FormThread, "the thread is gone")
		}
		return m.Thread, nil
	}
	if !decode.IsTimestamp(m.ReplyTo) {
		return "", nil
	}
	found, _, _, err := s.api.slackgo.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{ChannelID: decode.IDOf(m.Chat), Timestamp: m.ReplyTo, Limit: 1})
	err = apiError(err)
	switch {
	case err == nil && len(found) > 0 && found[0].ThreadTimestamp != "":
		return found[0].ThreadTimestamp, nil
	case err == nil && len(found) > 0:
		return m.ReplyTo, nil
	case err == nil || channel.FormOf(err) != "":
		return "", formGone(channel.FormReply, "the message that it answers is gone")
	case says(err, "missing_scope"):
		return m.ReplyTo, nil
	}
	return "", err
}

// text is what chat.postMessage takes. The zero options keep names from becoming links, and
// addresses from having previews.
type text struct {
	Channel     string   `json:"channel"`
	Text        string   `json:"text"`
	Thread      string   `json:"thread_ts,omitempty"`
	UnfurlLinks bool     `json:"unfurl_links"`
	UnfurlMedia bool     `json:"unfurl_media"`
	LinkNames   bool     `json:"link_names"`
	Metadata    metadata `json:"metadata"`
	Blocks      []block  `json:"blocks,omitempty"` // shown instead of Text, which a notification has
}

type metadata struct {
	Type    string            `json:"event_type"`
	Payload map[string]string `json:"event_payload"`
}

// say posts a text.
func (s *Slack) say(ctx context.Context, m channel.Message, thread *string) (channel.Receipt, error) {
	t := text{Channel: decode.IDOf(m.Chat), Text: m.Text, Thread: *thread, Metadata: metadata{metadataType, map[string]string{"id": m.ID}}}
	if m.ReplyTo != "" {
		t.Metadata.Payload["reply_to"] = m.ReplyTo
	}
	if q := bot.NewPoll(m); q != nil {
		p := poll{q}
		t.Text, t.Blocks = p.notice(), p.blocks("")
	}
	var answer struct {
		TS      string
		Message struct {
			Thread string `json:"thread_ts"`
		}
	}
	if err := s.api.post(ctx, "chat.postMessage", t, &answer); err != nil {
		return channel.Receipt{}, err
	}
	if !decode.IsTimestamp(answer.TS) {
		return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Slack did not say which message it made"}
	}
	return receipt(answer.TS, answer.Message.Thread, thread), nil
}

// receipt returns the receipt of a message that is in the thread at. Slack puts a message into the
// chat itself if the thread does not exist; then receipt empties thread.
func receipt(ts, at string, thread *string) channel.Receipt {
	r := channel.Receipt{ID: ts, Time: decode.TimeOf(ts)}
	if *thread != "" && at == "" {
		r.Note, *thread = "the thread is gone, so it went to the chat itself", ""
	}
	return r
}

const (
	maxPages = 10               // of history that Find reads
	pageOf   = 100              // messages
	skew     = 10 * time.Minute // between the clocks of the host and of Slack
)

// Find implements channel.Finder. It looks for a text among the messages since m.Since, by the id
// in their metadata, in the thread and in the chat itself. It finds files by the ids in m.State.
func (s *Slack) Find(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	ctx, open, leave, err := s.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(m.Files) > 0 {
		return s.findFiles(ctx, m)
	}
	thread, err := s.threadOf(ctx, m)
	if err != nil {
		return nil, unlessForm(err)
	}
	r, err := s.search(ctx, decode.IDOf(m.Chat), &thread, m.Since, func(found *slackgo.Message) bool {
		return found.Metadata.EventType == metadataType && found.Metadata.EventPayload["id"] == m.ID
	})
	if r != nil && err == nil {
		s.posted(ctx, open, m, *r, thread)
	}
	return r, err
}

// unlessForm returns nil for a refused form: Slack cannot have the message in that form.
func unlessForm(err error) error {
	if channel.FormOf(err) != "" {
		return nil
	}
	return err
}

// search looks for a message of ours since a time, in a thread and in the chat itself, where Slack
// may have put it instead. It returns nil if there is none.
func (s *Slack) search(ctx context.Context, id string, thread *string, since time.Time, is func(*slackgo.Message) bool) (*channel.Receipt, error) {
	if *thread != "" {
		r, err := s.searchIn(ctx, id, *thread, thread, since, is)
		if r != nil || err != nil && channel.FormOf(err) == "" {
			return r, err
		}
	}
	return s.searchIn(ctx, id, "", thread, since, is)
}

func (s *Slack) searchIn(ctx context.Context, id, in string, thread *string, since time.Time, is func(*slackgo.Message) bool) (*channel.Receipt, error) {
	oldest, cursor := "", ""
	if !since.IsZero() && since.Before(time.Now().Add(skew)) { // else the clock was set back, and nobody knows since when
		oldest = fmt.Sprintf("%d.000000", s.api.atSlack(since).Add(-skew).Unix())
	}
	for range maxPages {
		page, next, err := s.page(ctx, id, in, oldest, cursor)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if is(&page[i]) && decode.IsTimestamp(page[i].Timestamp) {
				r := receipt(page[i].Timestamp, page[i].ThreadTimestamp, thread)
				return &r, nil
			}
		}
		if cursor = next; cursor == "" {
			return nil, nil
		}
	}
	return nil, &channel.Error{Class: channel.Permanent, Code: "no_answer", Message: "too many messages were written since to find out whether Slack has this one"}
}

func (s *Slack) page(ctx context.Context, id, thread, oldest, cursor string) (page []slackgo.Message, next string, err error) {
	if thread != "" {
		page, _, next, err = s.api.slackgo.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{
			ChannelID: id, Timestamp: thread, Oldest: oldest, Cursor: cursor, Limit: pageOf, IncludeAllMetadata: true})
		return page, next, apiError(err)
	}
	got, err := s.api.slackgo.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
		ChannelID: id, Oldest: oldest, Cursor: cursor, Limit: pageOf, IncludeAllMetadata: true})
	if err != nil {
		return nil, "", apiError(err)
	}
	return got.Messages, got.ResponseMetaData.NextCursor, nil
}
