package telegram_test

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

const (
	deskID, officeID = -1001, -1002
	desk             = groups.JID("tg:-1001")
	office           = groups.JID("tg:-1002")
)

// world is a Bot API server and the channel of its bot.
type world struct {
	*telegramtest.Server
	setup channel.Setup
	ch    channel.Channel
}

var ada = map[string]any{"id": 77, "is_bot": false, "first_name": "Ada"}

func id(chat groups.JID) int64 {
	if chat == desk {
		return deskID
	}
	return officeID
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{Server: telegramtest.New(t, deskID, officeID)}
	set := telegram.Platform().Settings().(*telegram.Settings)
	set.Token, set.Server, set.Rate = setting.NewSecret(telegramtest.Token), w.URL, groups.Rate{PerMinute: 60_000, Burst: 1000}
	w.setup = channel.Setup{Name: "telegram", Settings: set, Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Log: slog.New(slog.DiscardHandler),
		Chats: []channel.NamedChat{{JID: desk, Name: "Desk"}, {JID: office, Name: "Office"}}}
	return w.made(t)
}

// made makes the channel, again after a restart.
func (w *world) made(t testing.TB) *world {
	t.Helper()
	ch, err := telegram.Platform().New(w.setup)
	if err != nil {
		t.Fatal(err)
	}
	w.ch = ch
	telegram.Hurry(ch, 10*time.Millisecond)
	return w
}

func TestConformance(t *testing.T) {
	var w *world
	channeltest.Run(t, channeltest.Harness{
		Chat: desk, Other: office, Unknown: "tg:-1999",
		Leaks: []goleak.Option{goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"), goleak.IgnoreAnyFunction("github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest.(*Server).poll"),
			goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead")},
		New: func(t testing.TB) channel.Channel {
			w = newWorld(t)
			return w.ch
		},
		Restart: func(t testing.TB) channel.Channel { return w.made(t).ch },
		Received: func(t testing.TB, chat groups.JID, n int) (all []channeltest.Seen) {
			for _, m := range w.WaitFor(t, id(chat), n) {
				all = append(all, seen(m))
			}
			return all
		},
		Now: func(t testing.TB, chat groups.JID, target string) channeltest.Seen {
			for _, m := range w.WaitFor(t, id(chat), 0) {
				if s := seen(m); s.ID == target {
					return s
				}
			}
			return channeltest.Seen{ID: target, Gone: true}
		},
		Say: func(_ testing.TB, chat groups.JID, s channeltest.Said) {
			w.Tell("message", id(chat), w.said(s))
		},
		Act:   func(_ testing.TB, chat groups.JID, in channel.Inbound) { w.act(id(chat), in) },
		Acts:  []channel.Kind{channel.KindEdit, channel.KindReaction, channel.KindMembership},
		Share: func(t testing.TB, chat groups.JID, s channeltest.Shared) { w.share(id(chat), s) },
		Stranger: func(_ testing.TB, chat groups.JID, target, choice string) {
			n, _ := strconv.ParseInt(target, 10, 64)
			w.Outside(666)
			w.Outside(667)
			for _, user := range []int64{666, 667, 666} {
				w.Vote(n, voter(user), 0)
			}
			w.Tell("message_reaction", -1998, map[string]any{"user": voter(666), "message_id": n, "old_reaction": []any{}, "new_reaction": []any{map[string]any{"type": "emoji", "emoji": "👍"}}})
		},
		Expire: func(testing.TB) { w.Forget() },
		Untouched: func(t testing.TB) {
			if files, err := os.ReadDir(w.setup.Dir); err != nil || len(files) > 0 {
				t.Errorf("New has made %v, %v", files, err)
			}
		},
		Stall: func(t testing.TB) <-chan struct{} {
			reached, until := make(chan struct{}), make(chan struct{})
			t.Cleanup(func() { close(until) })
			w.Next("sendMessage", telegramtest.Fault{Before: func() {
				close(reached)
				<-until
			}, Status: 503})
			return reached
		},
		Thread: func(testing.TB, groups.JID) string { return "42" },
		Refuse: func(_ testing.TB, form channel.Form, m channel.Message) bool {
			w.refuse(m, refusal(form, m))
			return true
		},
	})
}

// said are the fields of a message.
func (w *world) said(s channeltest.Said) map[string]any {
	m := map[string]any{"from": map[string]any{"id": 77, "is_bot": false, "first_name": s.From}}
	switch f := s.File; {
	case f != nil:
		m["document"] = map[string]any{"file_id": w.Keep(f.Data), "file_unique_id": f.Name, "file_name": f.Name, "mime_type": f.MIME, "file_size": len(f.Data)}
		m["caption"] = s.Text
	case s.Text != "":
		m["text"] = s.Text
	}
	return m
}

// share is a member who sends what s says, as Telegram's documents have it.
func (w *world) share(chat int64, s channeltest.Shared) {
	origin := func(name string) map[string]any {
		return map[string]any{"type": "hidden_user", "sender_user_name": name, "date": 1}
	}
	m := w.said(s.Said)
	var quote map[string]any
	if q := s.Quote; q != nil {
		quote = w.said(*q)
		quote["message_id"], quote["date"], quote["from"] = 50, 1, map[string]any{"id": 78, "is_bot": false, "first_name": q.From}
		m["reply_to_message"] = quote
	}
	switch s.Case {
	case channeltest.Forward, channeltest.ForwardFile, channeltest.ForwardBare, channeltest.ForwardAuthor:
		m["forward_origin"] = origin(s.Author)
	case channeltest.ForwardQuoted:
		quote["forward_origin"] = origin(s.Author)
	case channeltest.QuotePart:
		m["quote"] = map[string]any{"text": s.Selected, "position": strings.Index(s.Quote.Text, s.Selected), "is_manual": true}
	case channeltest.QuoteElsewhere:
		delete(m, "reply_to_message")
		m["external_reply"], m["quote"] = map[string]any{"origin": origin(s.Quote.From)}, map[string]any{"text": s.Quote.Text, "position": 0}
	case channeltest.HiddenLink:
		before, _, _ := strings.Cut(s.Text, "article")
		m["entities"] = []telegramtest.Entity{{Type: "text_link", Offset: len(utf16.Encode([]rune(before))), Length: len("article"), URL: s.Address}}
	case channeltest.Place, channeltest.Venue:
		m["location"] = map[string]any{"latitude": s.Place.Latitude, "longitude": s.Place.Longitude}
		if name, address, named := strings.Cut(s.Place.Name, " 3 "); named {
			m["venue"] = map[string]any{"location": m["location"], "title": name + " 3", "address": address}
		}
	case channeltest.Contact:
		first, last, _ := strings.Cut(s.Name, " ")
		m["contact"] = map[string]any{"phone_number": s.Number, "first_name": first, "last_name": last}
	case channeltest.Poll:
		delete(m, "text")
		var options []any
		for _, c := range s.Choices {
			options = append(options, map[string]any{"text": c, "voter_count": 0})
		}
		m["poll"] = map[string]any{"id": "1", "question": s.Text, "options": options}
	case channeltest.Sticker, channeltest.StickerName:
		m["sticker"] = map[string]any{"file_id": "s", "type": "regular", "is_animated": true, "is_video": false, "emoji": s.Name}
	case channeltest.StickerPicture:
		m["sticker"] = map[string]any{"file_id": w.Keep(s.File.Data), "type": "regular", "is_animated": false, "is_video": false}
		delete(m, "document")
	case channeltest.Photo:
		m["photo"] = []any{map[string]any{"file_id": "small"}, map[string]any{"file_id": w.Keep(s.File.Data), "file_size": len(s.File.Data)}}
		delete(m, "document")
	case channeltest.Unknown:
		m["dice"] = map[string]any{"emoji": "🎲", "value": 4}
	case channeltest.Pin:
		m["pinned_message"] = map[string]any{"message_id": 50, "date": 1, "text": "the plan"}
	case channeltest.NamelessAdmin:
		m["from"], m["sender_chat"] = map[string]any{"id": 1087968824, "is_bot": true, "first_name": "Group"}, map[string]any{"id": chat, "type": "supergroup", "title": "Desk"}
	case channeltest.Robot:
		m["from"] = map[string]any{"id": 5, "is_bot": true, "first_name": s.From}
	}
	w.Tell("message", chat, m)
}

// refuse answers the next send of a message with Telegram's words.
func (w *world) refuse(m channel.Message, words string) {
	method := "sendMessage"
	switch {
	case len(m.Files) > 1:
		method = "sendMediaGroup"
	case len(m.Files) == 1:
		method = map[media.Kind]string{media.Image: "sendPhoto", media.Video: "sendVideo", media.Audio: "sendAudio", media.Voice: "sendVoice", media.Sticker: "sendSticker"}[m.Files[0].Kind]
	}
	w.Next(method, telegramtest.Fault{Status: 400, Body: fmt.Sprintf(`{"ok":false,"error_code":400,"description":%q}`, "Bad Request: "+words)})
}

// refusal is how Telegram refuses a form.
func refusal(form channel.Form, m channel.Message) string {
	switch form {
	case channel.FormKind:
		return map[media.Kind]string{media.Image: "PHOTO_INVALID_DIMENSIONS", media.Video: "VIDEO_CONTENT_TYPE_INVALID", media.Audio: "not enough rights to send music to the chat",
			media.Voice: "VOICE_MESSAGES_FORBIDDEN", media.Sticker: "CHAT_SEND_STICKERS_FORBIDDEN"}[m.Files[0].Kind]
	case channel.FormAlbum:
		return "group send failed"
	case channel.FormReply:
		return "message to be replied not found"
	case channel.FormThread:
		return "message thread not found"
	}
	return "CHAT_SEND_MEDIA_FORBIDDEN"
}

// act does what a member does.
func (w *world) act(chat int64, in channel.Inbound) {
	target, _ := strconv.ParseInt(in.Target, 10, 64)
	switch {
	case in.Kind == channel.KindEdit:
		w.Tell("edited_message", chat, map[string]any{"from": ada, "message_id": target, "text": in.Text, "edit_date": 1_800_000_000})
	case in.Kind == channel.KindReaction:
		all := []any{}
		if in.Emoji != "" {
			all = append(all, map[string]any{"type": "emoji", "emoji": in.Emoji})
		}
		w.Tell("message_reaction", chat, map[string]any{"user": ada, "message_id": target, "old_reaction": []any{}, "new_reaction": all})
	case len(in.Joined) > 0:
		w.Tell("message", chat, map[string]any{"from": ada, "new_chat_members": []any{map[string]any{"id": 78, "first_name": "Bo"}}})
	default:
		w.Tell("message", chat, map[string]any{"from": ada, "left_chat_member": ada})
	}
}

// written is a text with its formats as the suite wrote them.
func written(m telegramtest.Message) string {
	tag := map[string]string{"bold": "b", "italic": "i", "code": "code"}
	text := utf16.Encode([]rune(m.Text))
	for _, e := range slices.Backward(m.Entities) {
		words := string(utf16.Decode(text[e.Offset : e.Offset+e.Length]))
		text = slices.Replace(text, e.Offset, e.Offset+e.Length, utf16.Encode([]rune("<"+tag[e.Type]+">"+words+"</"+tag[e.Type]+">"))...)
	}
	return string(utf16.Decode(text))
}

func seen(m telegramtest.Message) channeltest.Seen {
	if m.Gone {
		return channeltest.Seen{ID: strconv.FormatInt(m.ID, 10), Gone: true}
	}
	s := channeltest.Seen{ID: strconv.FormatInt(m.ID, 10), Text: written(m), Edits: m.Edits, Reaction: m.Reaction}
	if m.Thread != 0 {
		s.Thread = strconv.FormatInt(m.Thread, 10)
	}
	if m.ReplyTo != 0 {
		s.ReplyTo = strconv.FormatInt(m.ReplyTo, 10)
	}
	if len(m.Files) > 0 {
		for _, f := range m.Files {
			s.More = append(s.More, channeltest.SeenFile{Name: f.Name, MIME: media.MIMEByName(f.Name), Size: f.Size, SHA256: f.SHA256})
		}
		s.File, s.More = &s.More[0], s.More[1:]
	}
	return s
}
