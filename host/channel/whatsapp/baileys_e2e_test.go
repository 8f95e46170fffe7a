//go:build e2e

package whatsapp_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/baileys"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// An independent client, which shares no code with ours, reads what the channel
// sends and is read by it.

const (
	claraNumber = "4915550000003"

	byLID    = groups.JID("120363000000000004@g.us")
	directly = groups.JID(claraNumber + "@s.whatsapp.net")
)

// withBaileys is a world in which Clara, whose client is Baileys, shares two
// groups with the channel's account: one addresses members by number, the other
// by hidden id.
func withBaileys(t *testing.T) (*world, *baileys.Member) {
	t.Helper()
	w := emptyWorld(t)
	clara := w.srv.AddPhone(claraNumber, "Clara")
	for jid, lid := range map[groups.JID]bool{byNumber: false, byLID: true} {
		w.srv.AddGroup(whatsapptest.Group{JID: waJID(jid), Subject: "Harbour", Members: []string{botNumber, claraNumber}, LID: lid})
	}
	b := baileys.New(t, w.srv)
	if err := b.PairQR(soon(t), clara); err != nil {
		t.Fatal(err)
	}
	w.pair()
	return w.run(), b
}

// baileysKind is a file of each kind that the channel sends, and how Baileys
// must read it.
type baileysKind struct {
	info       media.Info
	data       []byte
	kind       string
	gif, voice bool
}

func baileysKinds(t *testing.T) []baileysKind {
	t.Helper()
	sticker, err := base64.StdEncoding.DecodeString(tinyWebP)
	if err != nil {
		t.Fatal(err)
	}
	return []baileysKind{
		{info: media.Info{Name: "a.pdf", Kind: media.Document, MIME: "application/pdf"}, data: []byte("%PDF-1.4\n%%EOF\n"), kind: "document"},
		{info: media.Info{Name: "a.csv", Kind: media.Document, MIME: "text/csv"}, data: []byte("a,b\n1,2\n"), kind: "document"},
		{info: media.Info{Name: "Übersicht 2026 — 概要 🚢.bin", Kind: media.Document, MIME: "application/octet-stream"}, data: noise(5 << 20), kind: "document"},
		{info: media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg"}, data: jpegOf(t, 640, 480), kind: "image"},
		{info: media.Info{Name: "a.png", Kind: media.Image, MIME: "image/png"}, data: pngOf(t, 20, 700), kind: "image"},
		{info: media.Info{Name: "a.mp4", Kind: media.Video, MIME: "video/mp4"}, data: probetest.MP4(83, 1280, 720), kind: "video"},
		{info: media.Info{Name: "b.mp4", Kind: media.Video, MIME: "video/mp4", Loop: true}, data: probetest.MP4(2, 100, 100), kind: "video", gif: true},
		{info: media.Info{Name: "a.mp3", Kind: media.Audio, MIME: "audio/mpeg"}, data: probetest.MP3(true), kind: "audio"},
		{info: media.Info{Name: "a.m4a", Kind: media.Audio, MIME: "audio/mp4"}, data: probetest.MP4(3, 0, 0), kind: "audio"},
		{info: media.Info{Name: "a.ogg", Kind: media.Audio, MIME: "audio/ogg"}, data: probetest.Opus(300), kind: "audio"},
		{info: media.Info{Name: "b.ogg", Kind: media.Voice, MIME: "audio/ogg"}, data: probetest.Opus(500), kind: "audio", voice: true},
		{info: media.Info{Name: "a.webp", Kind: media.Sticker, MIME: "image/webp"}, data: sticker, kind: "sticker"},
		{info: media.Info{Name: "a.wav", Kind: media.Audio, MIME: "audio/wav"}, data: noise(1000), kind: "document"},
	}
}

func TestBaileysReadsEveryKindAndAnswersWithFiles(t *testing.T) {
	w, clara := withBaileys(t)
	answers := 0
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		for _, k := range baileysKinds(t) {
			w.baileysReads(clara, chat, k)
		}
		w.baileysAnswers(clara, chat, &answers)
	}
	for _, r := range w.srv.Relayed(types.EmptyJID) {
		if r.Retries != 0 {
			t.Errorf("message %s in %s was asked for again %d times", r.ID, r.Chat, r.Retries)
		}
	}
}

func (w *world) baileysReads(clara *baileys.Member, chat groups.JID, k baileysKind) {
	w.t.Helper()
	m := file(chat, k.info, k.data)
	if k.kind == "document" || k.kind == "image" || k.kind == "video" {
		m.Text = "about " + k.info.Name
	}
	e, err := clara.Message(soon(w.t), w.send(m).ID)
	if err != nil {
		w.t.Fatalf("%s in %s: %v", k.info.Name, chat, err)
	}
	if e.Error != "" || e.SHA256 != sum(k.data) {
		w.t.Errorf("%s in %s: Baileys read %s %s, want %s", k.info.Name, chat, e.SHA256, e.Error, sum(k.data))
	}
	mime, _, _ := strings.Cut(e.MIME, ";")
	name := ""
	if k.kind == "document" {
		name = k.info.Name
	}
	if e.Secret != 32 {
		w.t.Errorf("%s in %s: a secret of %d bytes", k.info.Name, chat, e.Secret)
	}
	if e.Kind != k.kind || mime != k.info.MIME || e.Name != name || e.Text != m.Text || e.GIF != k.gif || e.Voice != k.voice {
		w.t.Errorf("%s in %s: Baileys read %+v, want a %s", k.info.Name, chat, e, k.kind)
	}
}

// baileysAnswers sends a document, a picture and a voice note from Baileys, the
// first as an answer to a text of ours.
func (w *world) baileysAnswers(clara *baileys.Member, chat groups.JID, before *int) {
	w.t.Helper()
	question := w.send(text(chat, "what do you have?"))
	if _, err := clara.Message(soon(w.t), question.ID); err != nil {
		w.t.Fatal(err)
	}
	to := string(chat)
	if chat == directly {
		to = w.bot.JID().String()
	}
	for i, a := range []struct {
		send baileys.Message
		data []byte
		kind media.Kind
	}{
		{baileys.Message{Kind: "document", Name: "Antwort — 答え.pdf", MIME: "application/pdf", Text: "here", Quoted: question.ID}, noise(300_000), media.Document},
		{baileys.Message{Kind: "image", MIME: "image/jpeg", Text: "and this"}, jpegOf(w.t, 64, 48), media.Image},
		{baileys.Message{Kind: "voice", MIME: "audio/ogg; codecs=opus"}, probetest.Opus(100), media.Voice},
	} {
		a.send.Chat, a.send.Path = to, filepath.Join(w.t.TempDir(), "answer")
		if err := os.WriteFile(a.send.Path, a.data, 0o600); err != nil {
			w.t.Fatal(err)
		}
		id, err := clara.Send(soon(w.t), a.send)
		if err != nil {
			w.t.Fatalf("%s to %s: %v", a.send.Kind, chat, err)
		}
		*before++
		got := w.received(*before)[*before-1]
		if got.ID != id || got.Chat != chat || got.Text != a.send.Text || len(got.Files) != 1 || got.Files[0].Kind != a.kind {
			w.t.Errorf("%s to %s arrived as %+v", a.send.Kind, chat, got)
		}
		w.in.mu.Lock()
		body := w.in.bodies[id]
		w.in.mu.Unlock()
		if sum(body) != sum(a.data) {
			w.t.Errorf("%s to %s: %d bytes %s, want %d %s", a.send.Kind, chat, len(body), sum(body), len(a.data), sum(a.data))
		}
		if i == 0 && (got.Files[0].Name != a.send.Name || got.Quote == nil || !got.Quote.Own || got.Quote.ID != question.ID) {
			w.t.Errorf("the document is %q, its quote %+v", got.Files[0].Name, got.Quote)
		}
	}
}

// What members do to messages comes in from another client than ours.
func TestWhatBaileysEditsDeletesAndReactsToComesIn(t *testing.T) {
	w, clara := withBaileys(t)
	n := 0
	does := func(chat groups.JID, f baileys.Message) channel.Inbound {
		t.Helper()
		if f.Chat = string(chat); chat == directly {
			f.Chat = w.bot.JID().String()
		}
		id, err := clara.Send(soon(t), f)
		if err != nil {
			t.Fatalf("%s in %s: %v", f.Kind, chat, err)
		}
		n++
		in := w.received(n)[n-1]
		if in.Chat != chat || in.Sender == "" || in.ID != id {
			t.Errorf("%s in %s came in as %+v, want id %s", f.Kind, chat, in, id)
		}
		return in
	}
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		target := does(chat, baileys.Message{Kind: "text", Text: "words"}).ID
		for _, tt := range []struct {
			send baileys.Message
			want channel.Inbound
		}{
			{baileys.Message{Kind: "edit", About: target, Text: "better"}, channel.Inbound{Kind: channel.KindEdit, Target: target, Text: "better"}},
			{baileys.Message{Kind: "reaction", About: target, Text: "👍🏽"}, channel.Inbound{Kind: channel.KindReaction, Target: target, Emoji: "👍🏽"}},
			{baileys.Message{Kind: "deletion", About: target}, channel.Inbound{Kind: channel.KindDeletion, Target: target}},
			{baileys.Message{Kind: "location", Name: "pier"}, channel.Inbound{Kind: channel.KindLocation, Text: "Location: 48.137154, 11.576124 pier"}},
		} {
			got := does(chat, tt.send)
			if got.Kind != tt.want.Kind || got.Target != tt.want.Target || got.Text != tt.want.Text || got.Emoji != tt.want.Emoji || (got.Location != nil) != (got.Kind == channel.KindLocation) {
				t.Errorf("in %s came in %+v, want %+v", chat, got, tt.want)
			}
		}
	}
}

// A quote names its writer as the chat addresses them, and holds the content
// alone: the secret would let others write votes and edits in the writer's name.
func TestBaileysReadsWhomAQuoteIsFrom(t *testing.T) {
	w, clara := withBaileys(t)
	for i, chat := range []groups.JID{byNumber, byLID, directly} {
		ours := w.send(text(chat, "ours"))
		if _, err := clara.Message(soon(t), ours.ID); err != nil {
			t.Fatal(err)
		}
		to, we, she := string(chat), w.bot.JID(), clara.Phone.JID()
		switch chat {
		case directly:
			to = we.String()
		case byLID:
			we, she = w.bot.LID(), clara.Phone.LID()
		}
		hers, err := clara.Send(soon(t), baileys.Message{Kind: "text", Chat: to, Text: "hers"})
		if err != nil {
			t.Fatal(err)
		}
		w.received(i + 1)
		for id, writer := range map[string]types.JID{ours.ID: we, hers: she} {
			m := text(chat, "about that")
			m.ReplyTo = id
			e, err := clara.Message(soon(t), w.send(m).ID)
			if err != nil {
				t.Fatal(err)
			}
			if e.Quoted != id || e.QuotedFrom != writer.String() || e.QuotedSecret != 0 {
				t.Errorf("in %s Baileys read a quote of %s by %s with a secret of %d bytes, want %s by %s with none", chat, e.Quoted, e.QuotedFrom, e.QuotedSecret, id, writer)
			}
		}
	}
}

func TestBaileysWhoLosesItsSessionsGetsTheMessagesAgain(t *testing.T) {
	w, clara := withBaileys(t)
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		known := w.send(text(chat, "before"))
		if _, err := clara.Message(soon(t), known.ID); err != nil {
			t.Fatal(err)
		}
		if err := clara.Forget(soon(t)); err != nil {
			t.Fatal(err)
		}
		for _, m := range []channel.Message{text(chat, "after"), document(chat, noise(1000))} {
			r := w.send(m)
			e, err := clara.Message(soon(t), r.ID)
			if err != nil {
				t.Fatalf("in %s: %v", chat, err)
			}
			if len(m.Files) > 0 && e.SHA256 != m.Files[0].SHA256 || e.Text != m.Text {
				t.Errorf("in %s Baileys read %+v", chat, e)
			}
		}
	}
	retries := 0
	for _, r := range w.srv.Relayed(waJID(byNumber)) {
		retries += r.Retries
	}
	if retries == 0 {
		t.Error("nothing was sent again: the sessions were not lost")
	}
}

func TestBaileysReadsAnAlbum(t *testing.T) {
	w, clara := withBaileys(t)
	for n, chat := range []groups.JID{byNumber, byLID, directly} {
		to := string(chat)
		if chat == directly {
			to = w.bot.JID().String()
		}
		m := album(t, chat, 2)
		r := w.send(m)
		a, err := clara.Message(soon(t), r.ID)
		if err != nil || a.Kind != "album" || a.Pictures != 2 || a.Videos != 1 || a.Secret != 32 {
			t.Errorf("in %s Baileys read %+v, %v", chat, a, err)
		}
		var ids []string
		for i, f := range m.Files {
			e, err := clara.Await(soon(t), func(e baileys.Event) bool { return e.Album == r.ID && e.SHA256 == f.SHA256 })
			if err != nil || e.Kind != string(f.Kind) || i == 0 && e.Text != m.Text || i > 0 && e.Text != "" {
				t.Fatalf("in %s Baileys read %+v, %v", chat, e, err)
			}
			ids = append(ids, e.ID)
		}
		if _, err := clara.Send(soon(t), baileys.Message{Kind: "text", Chat: to, Text: "Which one?", Quoted: ids[1]}); err != nil {
			t.Fatal(err)
		}
		if q := w.received(n + 1)[n].Quote; q == nil || !q.Own || q.ID != r.ID || len(q.Files) != 1 {
			t.Errorf("in %s Baileys' answer quotes %+v", chat, q)
		}
		made(t, w.ch.Unsend(soon(t), channel.Change{ID: newID(), Chat: chat, Target: r.ID, Files: true}))
		for _, id := range ids {
			if _, err := clara.Await(soon(t), func(e baileys.Event) bool { return e.Event == "deleted" && e.ID == id }); err != nil {
				t.Errorf("in %s Baileys still shows %s: %v", chat, id, err)
			}
		}
	}
}

func TestBaileysSeesWhatIsEditedReactedToAndUnsent(t *testing.T) {
	w, clara := withBaileys(t)
	type seen struct{ event, id, text string }
	await := func(want seen) {
		t.Helper()
		_, err := clara.Await(soon(t), func(e baileys.Event) bool {
			return e.Event == want.event && e.ID == want.id && e.Text == want.text
		})
		if err != nil {
			t.Errorf("Clara does not see %+v: %v", want, err)
		}
	}
	n := 0
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		to := string(chat)
		if chat == directly {
			to = w.bot.JID().String()
		}
		said, err := clara.Send(soon(t), baileys.Message{Chat: to, Kind: "text", Text: "How far are you?"})
		if err != nil {
			t.Fatal(err)
		}
		n++
		w.received(n)
		progress := w.send(text(chat, "10 %"))
		answer := w.send(channel.Message{ID: newID(), Chat: chat, Text: "half", ReplyTo: said})
		photo := file(chat, media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg"}, jpegOf(t, 40, 30))
		photo.Text = "before"
		picture := w.send(photo)
		for _, id := range []string{progress.ID, answer.ID, picture.ID} {
			if _, err := clara.Message(soon(t), id); err != nil {
				t.Fatal(err)
			}
		}
		c := channel.Change{ID: newID(), Chat: chat, Target: progress.ID, Text: "100 %"}
		for range 2 { // the second time it is the same message
			made(t, w.ch.Edit(soon(t), c))
		}
		await(seen{"edited", progress.ID, "100 %"})
		made(t, w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: chat, Target: answer.ID, Text: "whole"}))
		await(seen{"edited", answer.ID, "whole"})
		made(t, w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: chat, Target: picture.ID, Files: true, Text: "after"}))
		await(seen{"edited", picture.ID, "after"})
		made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: chat, Target: said, Emoji: "👀"}))
		await(seen{"reacted", said, "👀"})
		made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: chat, Target: said}))
		await(seen{"reacted", said, ""})
		made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: chat, Target: picture.ID, Emoji: "👍"}))
		await(seen{"reacted", picture.ID, "👍"})
		made(t, w.ch.Unsend(soon(t), channel.Change{ID: newID(), Chat: chat, Target: answer.ID}))
		await(seen{"deleted", answer.ID, ""})
	}
}

func TestBaileysReadsAPollAndVotes(t *testing.T) {
	w, clara := withBaileys(t)
	n := 0
	for _, chat := range []groups.JID{byNumber, byLID, directly} {
		to := string(chat)
		if chat == directly {
			to = w.bot.JID().String()
		}
		for several, votes := range map[bool][][]string{
			false: {{"Sunday — 日曜日"}, {"Saturday"}, nil},
			true:  {{"Saturday", "never 🚢"}, {"never 🚢"}, nil},
		} {
			m := question(chat, several, "Saturday", "Sunday — 日曜日", "never 🚢")
			asked := w.send(m)
			e, err := clara.Message(soon(t), asked.ID)
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != "pollCreation" || e.Text != m.Text || !slices.Equal(e.Choices, m.Poll.Choices) || (e.Selectable == 1) == several || e.Secret != 32 {
				t.Errorf("in %s Baileys read %+v", chat, e)
			}
			for _, v := range votes {
				if _, err := clara.Send(soon(t), baileys.Message{Kind: "vote", Chat: to, About: asked.ID, Choices: v}); err != nil {
					t.Fatal(err)
				}
				n++
				isVote(t, w.received(n)[n-1], asked.ID, v...)
			}
		}
	}
}
