package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/slack/decode"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// metadataType names our metadata. With it, a text has its Message.ID.
const metadataType = "longshore_message"

// Send implements channel.Channel. Slack shows a file some time after it has taken it: Send asks
// for 6 seconds, and then returns a Pending receipt. A refusal has its class by the table in
// errors.go; without an answer, the classes are those of transfer.Post.
func (s *Slack) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	return s.SendBy(ctx, m, func(ctx context.Context, o *bot.Open, m channel.Message) (channel.Receipt, error) {
		r, err := s.Deliver(ctx, o, m)
		return r, s.note(m, err)
	})
}

// Deliver implements bot.Paired.
func (s *Slack) Deliver(ctx context.Context, open *bot.Open, m channel.Message) (r channel.Receipt, err error) {
	thread, err := s.threadOf(ctx, m)
	switch {
	case err != nil:
	case len(m.Files) > 0:
		r, err = s.share(ctx, m, &thread)
	default:
		r, err = s.say(ctx, m, &thread)
	}
	if err == nil && open != nil {
		s.posted(ctx, open, m, r, thread)
	}
	return r, err
}

// posted records what the channel must know later of a message that the chat has.
func (s *Slack) posted(ctx context.Context, open *bot.Open, m channel.Message, r channel.Receipt, thread string) {
	err := s.threads.spoke(ctx, open.Journal, m.Chat, thread)
	if err = errors.Join(err, open.PlacePoll(ctx, m, r.ID)); err != nil {
		s.Log.Warn("note that the assistant spoke", "error", err)
	}
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
	found, _, err := page[posted](ctx, s.api, decode.IDOf(m.Chat), url.Values{"ts": {m.ReplyTo}, "limit": {"1"}})
	switch {
	case err == nil && len(found) > 0:
		return cmp.Or(found[0].Thread, m.ReplyTo), nil
	case err == nil || channel.FormOf(err) != "":
		return "", formGone(channel.FormReply, "the message that it answers is gone")
	case webapi.Says(err, "missing_scope"):
		return m.ReplyTo, nil
	}
	return "", err
}

// metadata returns the metadata by which Find finds the message of an id.
func metadata(id string) slackgo.SlackMetadata {
	return slackgo.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"id": id}}
}

// say posts a text. Names do not become links, and addresses have no previews.
func (s *Slack) say(ctx context.Context, m channel.Message, thread *string) (channel.Receipt, error) {
	meta := metadata(m.ID)
	if m.ReplyTo != "" {
		meta.EventPayload["reply_to"] = m.ReplyTo
	}
	t := map[string]any{"channel": decode.IDOf(m.Chat), "text": m.Text, "unfurl_links": false, "unfurl_media": false, "link_names": false, "metadata": meta}
	if *thread != "" {
		t["thread_ts"] = *thread
	}
	if q := bot.NewPoll(m); q != nil {
		t["text"], t["blocks"] = poll{q}.notice(), poll{q}.blocks("")
	}
	var answer struct {
		TS      string
		Message struct {
			Thread string `json:"thread_ts"`
		}
	}
	if err := s.api.Post(ctx, "chat.postMessage", t, &answer); err != nil {
		return channel.Receipt{}, err
	}
	if !decode.IsTimestamp(answer.TS) {
		return channel.Receipt{}, s.api.Unsure(nil)
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
	skew     = 10 * time.Minute // between the clocks of the host and of Slack
)

// Find implements channel.Finder. It looks for a text among the messages since m.Since, by the id
// in their metadata, in the thread and in the chat itself. It finds files by the ids in m.State.
func (s *Slack) Find(ctx context.Context, m channel.Message) (r *channel.Receipt, err error) {
	err = s.Within(ctx, func(ctx context.Context, open *bot.Open) (err error) {
		if len(m.Files) > 0 {
			r, err = s.findFiles(ctx, m)
			return err
		}
		thread, err := s.threadOf(ctx, m)
		if err != nil {
			return unlessForm(err)
		}
		r, err = s.search(ctx, decode.IDOf(m.Chat), &thread, m.Since, func(found *posted) bool {
			return found.Metadata.EventType == metadataType && found.Metadata.EventPayload["id"] == m.ID
		})
		if r != nil && err == nil {
			s.posted(ctx, open, m, *r, thread)
		}
		return err
	})
	return r, err
}

// posted is a message as conversations.history and conversations.replies have it.
type posted struct {
	TS       string                `json:"ts"`
	Thread   string                `json:"thread_ts"`
	Metadata slackgo.SlackMetadata `json:"metadata"`
	Files    any                   `json:"files"`
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
func (s *Slack) search(ctx context.Context, id string, thread *string, since time.Time, is func(*posted) bool) (*channel.Receipt, error) {
	if *thread != "" {
		if r, err := s.searchIn(ctx, id, *thread, thread, since, is); r != nil || unlessForm(err) != nil {
			return r, err
		}
	}
	return s.searchIn(ctx, id, "", thread, since, is)
}

func (s *Slack) searchIn(ctx context.Context, id, in string, thread *string, since time.Time, is func(*posted) bool) (*channel.Receipt, error) {
	args := url.Values{"limit": {"100"}, "include_all_metadata": {"true"}}
	if in != "" {
		args.Set("ts", in)
	}
	if !since.IsZero() && since.Before(time.Now().Add(skew)) { // else the clock was set back, and nobody knows since when
		args.Set("oldest", fmt.Sprintf("%d.000000", s.api.TheirTime(since).Add(-skew).Unix()))
	}
	for range maxPages {
		found, next, err := page[posted](ctx, s.api, id, args)
		if err != nil {
			return nil, err
		}
		for i := range found {
			if is(&found[i]) && decode.IsTimestamp(found[i].TS) {
				r := receipt(found[i].TS, found[i].Thread, thread)
				return &r, nil
			}
		}
		if next == "" {
			return nil, nil
		}
		args.Set("cursor", next)
	}
	return nil, &channel.Error{Class: channel.Permanent, Code: "no_answer", Message: "too many messages were written since to find out whether Slack has this one"}
}

// page returns messages of a chat or, if args have its ts, of a thread, each as an M.
func page[M any](ctx context.Context, a *api, id string, args url.Values) (all []M, next string, err error) {
	method := "conversations.history"
	if args.Has("ts") {
		method = "conversations.replies"
	}
	args.Set("channel", id)
	var said struct {
		Messages []M
		Next     struct {
			Cursor string `json:"next_cursor"`
		} `json:"response_metadata"`
	}
	err = a.Ask(ctx, http.MethodPost, method, args, &said)
	return said.Messages, said.Next.Cursor, err
}
