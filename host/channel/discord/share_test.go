package discord_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
)

// lacks are the cases that Discord does not have.
func lacks() map[channeltest.Case]string {
	return map[channeltest.Case]string{
		channeltest.ForwardAuthor:  "a forward does not say who wrote it",
		channeltest.QuotePart:      "an answer is to a whole message",
		channeltest.QuoteElsewhere: "an answer is to a message of the same chat",
		channeltest.Place:          "it has no places",
		channeltest.Venue:          "it has no places",
		channeltest.Contact:        "it has no contacts",
		channeltest.StickerPicture: "its stickers are PNG, APNG, GIF or vectors, and no WebP; TestThePictureOfAStickerIsFetched has those",
		channeltest.NamelessAdmin:  "everybody writes in their own name",
	}
}

type doc = map[string]any

// share sends what a member's app would send.
func (w *world) share(t testing.TB, chat groups.JID, s channeltest.Shared) {
	t.Helper()
	user, d := w.ada, doc{"content": s.Text}
	switch s.Case {
	case channeltest.Forward, channeltest.ForwardFile, channeltest.ForwardBare:
		d = w.forward(chat, s.Said)
	case channeltest.ForwardQuoted:
		d["type"], d["referenced_message"] = 19, w.forward(chat, *s.Quote)
	case channeltest.QuoteFile:
		d["type"], d["referenced_message"] = 19, doc{"content": s.Quote.Text, "attachments": w.attached(chat, s.Quote.File)}
	case channeltest.HiddenLink:
		d["content"] = strings.Replace(s.Text, "article", "[article]("+s.Address+")", 1)
	case channeltest.Poll:
		var answers []doc
		for i, c := range s.Choices {
			answers = append(answers, doc{"answer_id": i + 1, "poll_media": doc{"text": c}})
		}
		d = doc{"poll": doc{"question": doc{"text": s.Text}, "answers": answers}}
	case channeltest.Sticker, channeltest.StickerName:
		d["sticker_items"] = []doc{{"id": "700000000000000001", "name": s.Name, "format_type": 3}}
	case channeltest.Photo:
		d["attachments"] = w.attached(chat, s.File)
	case channeltest.Unknown:
		d = doc{"activity": doc{"type": 1, "party_id": "p"}}
	case channeltest.Pin:
		d["type"] = 6
	case channeltest.Renamed:
		w.Rename(w.ada, s.From)
	case channeltest.Robot:
		user, d["author"] = "", doc{"id": "1005", "username": s.From, "bot": true}
	default:
		t.Fatalf("nobody can send %s on Discord", s.Case)
	}
	if q, ok := d["referenced_message"].(doc); ok { // nobody here has seen it
		q["id"], q["channel_id"], q["author"] = "800000000000000003", id(chat), doc{"id": "1004", "username": s.Quote.From}
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	w.Document(id(chat), user, string(data))
}

// forward is a forwarded message.
func (w *world) forward(chat groups.JID, s channeltest.Said) doc {
	return doc{"type": 0, "content": "", "message_reference": doc{"type": 1, "message_id": "800000000000000001", "channel_id": "800000000000000002"},
		"message_snapshots": []doc{{"message": doc{"type": 0, "content": s.Text, "attachments": w.attached(chat, s.File)}}}}
}

func (w *world) attached(chat groups.JID, f *channeltest.SaidFile) []json.RawMessage {
	if f == nil {
		return []json.RawMessage{}
	}
	return []json.RawMessage{json.RawMessage(w.Attachment(id(chat), f.Name, f.MIME, f.Data))}
}
