package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/media"
)

// Send implements channel.Channel. A refusal has its class by the table in errors.go; without an answer,
// the classes are those of transfer.Post.
func (t *Telegram) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	return t.SendBy(ctx, m, t.Deliver)
}

// Deliver implements bot.Paired.
func (t *Telegram) Deliver(ctx context.Context, open *bot.Open, m channel.Message) (r channel.Receipt, err error) {
	to := args{}
	if m.Thread != "" {
		if to["message_thread_id"] = numberOf(m.Thread); numberOf(m.Thread) == 0 {
			return r, meant("topic_id_invalid")
		}
	}
	if id := numberOf(m.ReplyTo); id != 0 {
		to["reply_parameters"] = args{"message_id": id}
	}
	var j *journal.Journal
	if open != nil {
		j = open.Journal
	}
	note := ""
	err = t.following(ctx, j, m.Chat, func(chat int64) (err error) {
		if to["chat_id"] != nil {
			note = fmt.Sprintf("the chat is now %s: the operator corrects it in longshore.yaml", chatOf(chat))
		}
		to["chat_id"] = chat
		r, err = t.try(ctx, j, m, to)
		return err
	})
	r.Note = note
	return r, err
}

// args are the parameters of a method.
type args map[string]any

var noPreview = args{"is_disabled": true}

// senderOf returns the number of a user or a chat; 0 if id is none.
func senderOf(id string) int64 { return idOf(groups.JID(id)) }

// numberOf returns Telegram's number of a message or topic; 0 if id is none.
func numberOf(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// following calls do with the present number of a chat, and again if Telegram says that the chat has
// another one now.
func (t *Telegram) following(ctx context.Context, j *journal.Journal, chat groups.JID, do func(chat int64) error) error {
	err := do(t.moved.now(idOf(chat)))
	to := migration(err)
	if to == 0 {
		return err
	}
	if err := t.follow(ctx, j, idOf(chat), to); err != nil {
		t.Log.Warn("note that a group has another number", "error", err) // Telegram says it again
	}
	return do(to)
}

// migration returns the new number of a chat that an error names; 0 if it names none.
func migration(err error) int64 {
	if w := webapi.WordOf(err); w != nil {
		return senderOf("tg:" + w.Detail)
	}
	return 0
}

// try sends a message to a chat with a thread and an answer, as to says.
func (t *Telegram) try(ctx context.Context, j *journal.Journal, m channel.Message, to args) (channel.Receipt, error) {
	switch {
	case m.Poll != nil:
		return t.ask(ctx, j, m, to)
	case len(m.Files) == 0:
		a := maps.Clone(to)
		a.text("text", "entities", m.Text)
		a["link_preview_options"] = noPreview
		return t.post(ctx, "sendMessage", a, nil, nil)
	}
	return t.files(ctx, j, m, to)
}

var entityOf = map[string]string{"b": "bold", "i": "italic", "s": "strikethrough", "code": "code", "pre": "pre", "blockquote": "blockquote", "a": "text_link"}

// text sets a text of media.MarkupTelegram and its entities, unless it is empty.
func (a args) text(name, entities, text string) {
	shown, marks := media.Shown(text)
	if shown != "" {
		a[name] = shown
	}
	var all []entity
	for _, m := range marks {
		all = append(all, entity{Type: entityOf[m.Kind], Offset: m.From, Length: m.To - m.From, URL: m.URL, Language: m.Language})
	}
	if len(all) > 0 {
		a[entities] = all
	}
}

// sent are the messages that Telegram made: several if they are an album.
type sent []message

// UnmarshalJSON reads one message or a list.
func (s *sent) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]message)(s))
	}
	*s = make(sent, 1)
	return json.Unmarshal(raw, &(*s)[0])
}

// post calls a method that shows something. Its parameters name the files of up, which may be nil, by
// attach://file0 and so on. all, if not nil, gets what Telegram made.
func (t *Telegram) post(ctx context.Context, method string, a args, up *channel.Message, all *sent) (channel.Receipt, error) {
	body, err := bodyOf(ctx, a, up)
	if err != nil {
		return channel.Receipt{}, err
	}
	all = cmp.Or(all, new(sent))
	if err := t.api.Post(ctx, method, body, all); err != nil {
		return channel.Receipt{}, err
	}
	if len(*all) == 0 || (*all)[0].ID <= 0 {
		return channel.Receipt{}, t.api.Unsure(nil)
	}
	first := (*all)[0]
	return channel.Receipt{ID: number(first.ID), Time: time.Unix(first.Date, 0)}, nil
}
