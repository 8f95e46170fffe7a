//go:build e2e

package whatsapp_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/baileys"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// What another client than ours sends beside texts and files comes in.
func TestWhatBaileysSendsBesideTextsComesIn(t *testing.T) {
	w, clara := withBaileys(t)
	n := 0
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		to := string(chat)
		if chat == directly {
			to = w.bot.JID().String()
		}
		sends := func(f baileys.Message, data []byte) string {
			t.Helper()
			if f.Chat = to; data != nil {
				f.Path = filepath.Join(t.TempDir(), "file")
				if err := os.WriteFile(f.Path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			id, err := clara.Send(soon(t), f)
			if err != nil {
				t.Fatalf("%s in %s: %v", f.Kind, chat, err)
			}
			return id
		}
		words := sends(baileys.Message{Kind: "text", Text: "words"}, nil)
		album := sends(baileys.Message{Kind: "album"}, nil) // of which nothing comes in
		n++
		w.received(n)
		sticker, err := base64.StdEncoding.DecodeString(tinyWebP)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			send baileys.Message
			data []byte
			want channel.Inbound
			file media.Kind
		}{
			{send: baileys.Message{Kind: "image", MIME: "image/jpeg", Text: "one of an album", About: album}, data: jpegOf(t, 8, 8), want: channel.Inbound{Text: "one of an album"}, file: media.Image},
			{send: baileys.Message{Kind: "ptv", MIME: "video/mp4"}, data: probetest.MP4(3, 240, 240), file: media.Video},
			{send: baileys.Message{Kind: "sticker", MIME: "image/webp"}, data: sticker, want: channel.Inbound{Kind: channel.KindSticker, Text: "sent a sticker"}, file: media.Sticker},
			{send: baileys.Message{Kind: "poll", Text: "When?", Choices: []string{"Mon", "Tue"}}, want: channel.Inbound{Kind: channel.KindPoll, Text: "Poll: When?\n- Mon\n- Tue"}},
			{send: baileys.Message{Kind: "live", Text: "on my way"}, want: channel.Inbound{Kind: channel.KindLocation, Text: "Location: 53.500000, 9.900000 (live)\non my way"}},
			{send: baileys.Message{Kind: "contact", Name: "Bo", Text: "BEGIN:VCARD\nVERSION:3.0\nFN:Bo\nTEL;type=CELL;waid=49150:+49 150\nEND:VCARD"}, want: channel.Inbound{Kind: channel.KindContact, Text: "Contact: Bo +49 150"}},
			{send: baileys.Message{Kind: "event", Name: "Meeting", Text: "at the pier"}, want: channel.Inbound{Kind: channel.KindNote, Text: "made an event: Meeting\nbegins: 2026-12-01T09:00:00Z\nat the pier"}},
			{send: baileys.Message{Kind: "buttonReply", Text: "Pier 3"}, want: channel.Inbound{Text: "Pier 3"}},
			{send: baileys.Message{Kind: "templateReply", Text: "Pier 3"}, want: channel.Inbound{Text: "Pier 3"}},
			{send: baileys.Message{Kind: "listReply", Text: "Pier 3"}, want: channel.Inbound{Text: "Pier 3"}},
			{send: baileys.Message{Kind: "pin", About: words}, want: channel.Inbound{Kind: channel.KindNote, Target: words, Text: "pinned a message"}},
			{send: baileys.Message{Kind: "forward", About: words}, want: channel.Inbound{Text: "words", Forwarded: true}},
		} {
			id := sends(tt.send, tt.data)
			n++
			got := w.received(n)[n-1]
			if got.ID != id || got.Kind != tt.want.Kind || got.Text != tt.want.Text || got.Target != tt.want.Target || got.Forwarded != tt.want.Forwarded || got.Told != "" {
				t.Errorf("in %s %s came in as %+v, want %+v", chat, tt.send.Kind, got, tt.want)
			}
			if tt.file == "" {
				continue
			}
			w.in.mu.Lock()
			if len(got.Files) != 1 || got.Files[0].Kind != tt.file || sum(w.in.bodies[id]) != sum(tt.data) {
				t.Errorf("in %s %s came in with %+v, %d bytes", chat, tt.send.Kind, got.Files, len(w.in.bodies[id]))
			}
			w.in.mu.Unlock()
		}
	}
}
