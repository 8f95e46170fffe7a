package whatsapp_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// album is pictures of the widths 10, 11, …, and a video at the end.
func album(t *testing.T, chat groups.JID, pictures int) channel.Message {
	t.Helper()
	m := channel.Message{ID: newID(), Chat: chat, Text: "the harbour"}
	for i := range pictures {
		m.Files = append(m.Files, file(chat, media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg"}, jpegOf(t, 10+i, 10)).Files...)
	}
	m.Files = append(m.Files, file(chat, media.Info{Name: "a.mp4", Kind: media.Video, MIME: "video/mp4"}, probetest.MP4(1, 100, 100)).Files...)
	return m
}

// inAlbum returns what Anna got of an album, in order: of each id once.
func (w *world) inAlbum(chat groups.JID, id string) (all []*events.Message) {
	w.t.Helper()
	w.quiet()
	known := map[string]bool{}
	for _, e := range w.anna.Everything() {
		of := e.Message.GetMessageContextInfo().GetMessageAssociation()
		part := of.GetAssociationType() == waE2E.MessageAssociation_MEDIA_ALBUM && of.GetParentMessageKey().GetID() == id && of.GetParentMessageKey().GetFromMe()
		if e.Info.Chat == waJID(chat) && !known[e.Info.ID] && (part || e.Message.AlbumMessage != nil && e.Info.ID == id) {
			known[e.Info.ID] = true
			all = append(all, e)
		}
	}
	return all
}

// isWhole checks that Anna's app shows the whole album once, in order.
func (w *world) isWhole(m channel.Message, id string) (files []*events.Message) {
	w.t.Helper()
	got := w.inAlbum(m.Chat, id)
	if len(got) != len(m.Files)+1 || got[0].Message.AlbumMessage == nil {
		w.t.Fatalf("Anna has %d messages of the album, want the album and %d files", len(got), len(m.Files))
	}
	if a := got[0].Message.AlbumMessage; int(a.GetExpectedImageCount()) != len(m.Files)-1 || a.GetExpectedVideoCount() != 1 {
		w.t.Errorf("the album announces %v", a)
	}
	for i, e := range got[1:] {
		text := ""
		if i == 0 {
			text = m.Text
		}
		if in := w.fetch(e.Message); in.SHA256 != m.Files[i].SHA256 || whatsapptest.Text(e.Message) != text {
			w.t.Errorf("file %d has the caption %q and other bytes: %t", i, whatsapptest.Text(e.Message), in.SHA256 != m.Files[i].SHA256)
		}
	}
	return got[1:]
}

func TestAnAlbumArrivesOnceAndIsReportedOnce(t *testing.T) {
	w := newWorld(t).run()
	question := w.says(family, plain("Show me."))
	w.received(1)
	m, size, last := album(t, family, 3), int64(0), int64(0)
	for _, f := range m.Files {
		size += f.Size
	}
	m.ReplyTo = question
	m.Attempt = channeltest.Progress(func(sent int64) { last = max(last, sent) })
	first := w.send(m)
	m.Attempt = nil
	w.quiet()
	w.restart()
	if again := w.send(m); again.ID != first.ID || !again.Time.Equal(first.Time) || last != size {
		t.Errorf("the receipts are %+v and %+v, the progress ended at %d of %d", first, again, last, size)
	}
	files := w.isWhole(m, first.ID)
	if got := files[0].Message.GetImageMessage().GetContextInfo().GetStanzaID(); got != question {
		t.Errorf("the album answers %q", got)
	}
	for _, r := range w.srv.Relayed(waJID(family)) {
		if r.Sender.User == botNumber && r.Times != 1 {
			t.Errorf("%s was sent %d times", r.ID, r.Times)
		}
	}
}

func TestAnAlbumIsReadIfItsLastFileIs(t *testing.T) {
	w := newWorld(t).run()
	m := album(t, family, 2)
	r := w.send(m)
	for _, e := range w.isWhole(m, r.ID) {
		if err := w.anna.MarkRead(soon(t), e); err != nil {
			t.Fatal(err)
		}
	}
	w.until("the album is read", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return slices.Contains(w.in.reports, string(family)+" "+r.ID+" read")
	})
	w.quiet()
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	for i, report := range w.in.reports {
		if report != string(family)+" "+r.ID+" delivered" && report != string(family)+" "+r.ID+" read" || slices.Contains(w.in.reports[:i], report) {
			t.Errorf("reported: %v", w.in.reports)
		}
	}
}

// What an album has sent stays sent, at whichever message it broke off.
func TestAnAlbumGoesOnWhereItBrokeOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, brisk).run()
	w.send(text(family, "so that all is known"))
	for i, do := range []whatsapptest.Action{whatsapptest.LoseAck, whatsapptest.Swallow, whatsapptest.Refuse, whatsapptest.LoseAck} {
		chat := w.newChat()
		fault := w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: do, Code: 500, Chat: waJID(chat), Skip: i})
		m := album(t, chat, 2)
		if _, err := w.ch.Send(soon(t), m); do != whatsapptest.LoseAck && err == nil { // a receipt stands for a lost acknowledgement
			t.Errorf("%s of message %d: no error", do, i)
		}
		if i == 1 {
			w.quiet()
			w.restart()
		}
		r := w.taken(m)
		w.isWhole(m, r.ID)
		if fault.Hits() != 1 {
			t.Errorf("the fault struck %d times", fault.Hits())
		}
		for j, sent := range w.srv.Relayed(waJID(chat)) {
			if j < i && sent.Times != 1 {
				t.Errorf("%s of message %d: message %d was sent %d times", do, i, j, sent.Times)
			}
		}
	}
	if n := len(w.srv.Uploads()); n != 4*3 {
		t.Errorf("%d uploads for 12 files", n)
	}
}

func TestTheRateDelaysAnAlbumAndRepeatsNothing(t *testing.T) {
	w := newWorld(t, func(o *whatsapp.Options) { o.Rates = pace.Rates{Chat: pace.Rate{PerMinute: 0.001, Burst: 2}} }).run()
	m := album(t, family, 4)
	_, err := w.ch.Send(soon(t), m)
	if wait := channel.RetryAfterOf(err); channel.ClassOf(err) != channel.Passing || wait <= 0 {
		t.Errorf("five files at a rate of two: %v", err)
	}
	w.quiet()
	w.opts.Rates.Chat.PerMinute = -1 // as after a while
	w.restart()
	r := w.send(m)
	w.isWhole(m, r.ID)
	for _, sent := range w.srv.Relayed(waJID(family)) {
		if sent.Times != 1 {
			t.Errorf("%s was sent %d times", sent.ID, sent.Times)
		}
	}
}

func TestAnAlbumOfWhichAFileCannotBeReadShowsNothing(t *testing.T) {
	w := newWorld(t).run()
	m := album(t, family, 2)
	good := m.Files[2].Content
	m.Files[2].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) { return nil, errors.New("the disk broke") })
	if _, err := w.ch.Send(soon(t), m); err == nil || channel.ClassOf(err) == channel.Permanent {
		t.Errorf("%v, want an error that passes", err)
	}
	if all := w.srv.Relayed(waJID(family)); len(all) != 0 {
		t.Errorf("went out: %+v", all)
	}
	m.Files[2].Content = good
	w.isWhole(m, w.send(m).ID)
	if n := len(w.srv.Uploads()); n != 3 {
		t.Errorf("%d uploads for 3 files", n)
	}
}

// If the account is thrown out in the middle, the error says what members have.
func TestAnAlbumThatFailsInTheMiddleSaysSo(t *testing.T) {
	w := newWorld(t).run()
	w.fault(whatsapptest.Fault{On: whatsapptest.OnMessage, Do: whatsapptest.Refuse, Code: 403, Chat: waJID(family), Skip: 3})
	_, err := w.ch.Send(soon(t), album(t, family, 3))
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Permanent || e.Code != "not_a_member" || e.Message != "the WhatsApp account is no member of this chat; members see 2 of the 4 files" {
		t.Errorf("%v", err)
	}
	w.quiet()
}

// Members know the files, assistants the album.
func TestAnAlbumIsOneMessageForTheAssistant(t *testing.T) {
	w := newWorld(t).run()
	m := album(t, family, 2)
	r := w.send(m)
	files := w.isWhole(m, r.ID)
	to := waJID(family)
	w.says(family, w.anna.Client.BuildReaction(to, w.bot.JID(), files[1].Info.ID, "👍"))
	w.says(family, quoting(files[2].Info.ID, w.bot.JID(), "made up"))
	w.says(family, quoting(r.ID, w.bot.JID(), "made up"))
	got := w.received(3)
	if got[0].Kind != channel.KindReaction || got[0].Target != r.ID {
		t.Errorf("a reaction to a picture came in as %+v", got[0])
	}
	for i, want := range []struct {
		text string
		kind media.Kind
	}{{"", media.Video}, {m.Text, media.Image}} {
		q := got[i+1].Quote
		if q == nil || !q.Own || q.ID != r.ID || q.Text != want.text || len(q.Files) != 1 || q.Files[0].Kind != want.kind {
			t.Errorf("an answer quotes %+v", q)
		}
	}

	answer := text(family, "that one")
	answer.ReplyTo = r.ID
	w.send(answer)
	made(t, w.ch.Edit(soon(t), channel.Change{ID: newID(), Chat: family, Target: r.ID, Files: true, Text: "the port"}))
	made(t, w.ch.React(soon(t), channel.Change{ID: newID(), Chat: family, Target: r.ID, Emoji: "👀"}))
	if s := w.now(family, files[0].Info.ID); s.Text != "the port" || s.Edits != 1 || s.Reaction != "👀" {
		t.Errorf("the first picture is %+v", s)
	}
	if q := w.anna.Messages(); !slices.ContainsFunc(q, func(e *events.Message) bool {
		return e.Message.GetExtendedTextMessage().GetContextInfo().GetStanzaID() == files[0].Info.ID
	}) {
		t.Error("no answer quotes the first picture")
	}
	gone := channel.Change{ID: newID(), Chat: family, Target: r.ID, Files: true}
	made(t, w.ch.Unsend(soon(t), gone))
	made(t, w.ch.Unsend(soon(t), gone))
	for _, id := range []string{r.ID, files[0].Info.ID, files[1].Info.ID, files[2].Info.ID} {
		if s := w.now(family, id); !s.Gone {
			t.Errorf("%s is %+v", id, s)
		}
	}
}

// The host forgets after a thousand messages, and an album is deleted all the same.
func TestAForgottenAlbumIsUnsent(t *testing.T) {
	w := newWorld(t).run()
	m := album(t, family, 1)
	r := w.send(m)
	files := w.isWhole(m, r.ID)
	w.stop()
	w.opts.Dir, w.opts.State = t.TempDir(), statetest.Open(t, t.TempDir())
	w.bot.Unlink()
	w.open()
	w.pair()
	w.run()
	made(t, w.ch.Unsend(soon(t), channel.Change{ID: newID(), Chat: family, Target: r.ID, Files: true}))
	for _, id := range []string{r.ID, files[0].Info.ID, files[1].Info.ID} {
		if s := w.now(family, id); !s.Gone {
			t.Errorf("%s is %+v", id, s)
		}
	}
}

// The apps show documents, voice notes and GIFs alone.
func TestWhatIsNoPictureIsInNoAlbum(t *testing.T) {
	l := whatsapp.DefaultLimits()
	picture, gif := media.Info{Kind: media.Image}, media.Info{Kind: media.Video, Loop: true}
	for name, alone := range map[string]media.Info{"document": {Kind: media.Document}, "voice": {Kind: media.Voice}, "sticker": {Kind: media.Sticker}, "gif": gif} {
		if l.MayShare([]media.Info{picture}, alone) || l.MayShare([]media.Info{alone}, picture) || l.MayShare([]media.Info{alone}, alone) {
			t.Errorf("a %s shares a message", name)
		}
		m := album(t, family, 1)
		m.Files[1].Info = alone
		if _, err := newAlone(t).Send(soon(t), m); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("a picture and a %s: %v", name, err)
		}
	}
	if !l.MayShare(slices.Repeat([]media.Info{picture}, l.Files-1), media.Info{Kind: media.Video}) {
		t.Error("pictures and a video share no message")
	}
}

// newAlone is a channel that is not connected.
func newAlone(t *testing.T) *whatsapp.WhatsApp {
	t.Helper()
	ch, err := whatsapp.New(whatsapp.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return ch
}
