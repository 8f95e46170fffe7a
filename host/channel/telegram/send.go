package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// fallback is the note of a message whose topic takes none.
const fallback = "it went to the chat itself: the topic is gone"

// outgoing is what all methods that send take. Markup is never parsed.
type outgoing struct {
	Chat    int64    `json:"chat_id"`
	Thread  int64    `json:"message_thread_id,omitempty"`
	Text    string   `json:"text,omitempty"`
	Reply   *reply   `json:"reply_parameters,omitempty"`
	Preview *preview `json:"link_preview_options,omitempty"`
}

type reply struct {
	Message int64 `json:"message_id"`
	Anyway  bool  `json:"allow_sending_without_reply"`
}

type preview struct {
	Off bool `json:"is_disabled"`
}

// Send sends m and returns once Telegram has answered. The classes of errors are
// those of the table in errors.go; without an answer, those of transfer.Post.
func (t *Telegram) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	if err := channel.Check(t.Name(), m, t.Limits()); err != nil {
		return channel.Receipt{}, err
	}
	ctx, open, leave, err := t.Enter(ctx)
	if err != nil {
		return channel.Receipt{}, err
	}
	defer leave()
	if err := t.standing.of(m.Chat); err != nil {
		return channel.Receipt{}, err
	}
	if wait := t.pacer.Turn(m.Chat); wait > 0 {
		return channel.Receipt{}, slow(wait, nil)
	}
	return t.deliver(ctx, open.Journal, m)
}

// deliver is Send without its bounds. The journal may be nil.
func (t *Telegram) deliver(ctx context.Context, j *journal.Journal, m channel.Message) (channel.Receipt, error) {
	out := outgoing{Chat: t.moved.now(idOf(m.Chat)), Text: m.Text}
	note := ""
	if m.Thread != "" {
		if out.Thread = numberOf(m.Thread); out.Thread == 0 {
			note = fallback
		}
	}
	if id := numberOf(m.ReplyTo); id != 0 {
		out.Reply = &reply{id, true}
	}
	r, err := t.try(ctx, m, out)
	if out.Thread != 0 && says(err, threadGone) {
		out.Thread, note = 0, fallback
		r, err = t.try(ctx, m, out)
	}
	if to := t.migrated(ctx, j, m.Chat, err); to != 0 {
		out.Chat, note = to, fmt.Sprintf("the chat is now %s: the operator corrects it in longshore.yaml", chatOf(to))
		r, err = t.try(ctx, m, out)
	}
	r.Note = note
	return r, err
}

// numberOf is a platform's id of a message or topic; 0 if it is none.
func numberOf(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// migrated is the new number of a chat if that is why Telegram refused a message.
func (t *Telegram) migrated(ctx context.Context, j *journal.Journal, chat groups.JID, err error) int64 {
	to := migration(err)
	if to == 0 {
		return 0
	}
	if err := t.follow(ctx, j, idOf(chat), to); err != nil {
		t.Log.Warn("note that a group has another number", "error", err) // Telegram says it again
	}
	return to
}

// migration is the number that Telegram says a chat has now; 0 if it does not.
func migration(err error) int64 {
	var w *word
	if !errors.As(err, &w) {
		return 0
	}
	return w.migrateTo
}

// try makes one request.
func (t *Telegram) try(ctx context.Context, m channel.Message, out outgoing) (channel.Receipt, error) {
	if len(m.Files) == 0 {
		out.Preview = &preview{true}
		content, err := json.Marshal(out)
		if err != nil {
			return channel.Receipt{}, fmt.Errorf("encode message: %w", err)
		}
		return t.post(ctx, "sendMessage", transfer.Plain("application/json", content))
	}
	method, field := methodOf(m.Files[0])
	r, err := t.upload(ctx, m, out, method, field)
	if method == "sendPhoto" && says(err, badPhoto) {
		return t.upload(ctx, m, out, "sendDocument", "document")
	}
	return r, err
}

func (t *Telegram) post(ctx context.Context, method string, body *transfer.Body) (channel.Receipt, error) {
	var sent message
	if err := t.web.post(ctx, method, body, &sent); err != nil {
		return channel.Receipt{}, err
	}
	if sent.ID <= 0 {
		return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Telegram did not say which message it made"}
	}
	return channel.Receipt{ID: strconv.FormatInt(sent.ID, 10), Time: time.Unix(sent.Date, 0)}, nil
}

// methodOf is how a file is sent.
func methodOf(f channel.File) (method, field string) {
	switch f.Kind {
	case media.Image:
		return "sendPhoto", "photo"
	case media.Video:
		if f.Loop {
			return "sendAnimation", "animation"
		}
		return "sendVideo", "video"
	case media.Audio:
		return "sendAudio", "audio"
	case media.Voice:
		return "sendVoice", "voice"
	case media.Sticker:
		return "sendSticker", "sticker"
	}
	return "sendDocument", "document"
}

// upload streams the file of m.
func (t *Telegram) upload(ctx context.Context, m channel.Message, out outgoing, method, field string) (channel.Receipt, error) {
	var fields []transfer.Field
	add := func(name, content string) {
		fields = append(fields, transfer.Field{Name: name, Type: "text/plain; charset=utf-8", Content: []byte(content)})
	}
	add("chat_id", strconv.FormatInt(out.Chat, 10))
	if out.Thread != 0 {
		add("message_thread_id", strconv.FormatInt(out.Thread, 10))
	}
	if out.Reply != nil {
		content, err := json.Marshal(out.Reply)
		if err != nil {
			return channel.Receipt{}, fmt.Errorf("encode message: %w", err)
		}
		add("reply_parameters", string(content))
	}
	if out.Text != "" {
		add("caption", out.Text)
	}
	switch method {
	case "sendDocument":
		add("disable_content_type_detection", "true")
	case "sendVideo":
		add("supports_streaming", "true")
	}
	add(field, "attach://file0")
	body, err := transfer.Form(ctx, fields, m.Files, func(i int) string { return "file" + strconv.Itoa(i) }, m.Progress)
	if err != nil {
		return channel.Receipt{}, err
	}
	return t.post(ctx, method, body)
}
