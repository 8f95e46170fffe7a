package whatsapp_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/media"
)

// says lets Anna send any message.
func (w *world) says(chat groups.JID, m *waE2E.Message) types.MessageID {
	w.t.Helper()
	id, err := w.anna.Send(soon(w.t), waJID(chat), m)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func plain(s string) *waE2E.Message { return &waE2E.Message{Conversation: proto.String(s)} }

func TestQuotesAndMentionsComeIn(t *testing.T) {
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		chat := groups.JID("120363000000000007@g.us")
		w.srv.AddGroup(whatsapptest.Group{JID: waJID(chat), Members: []string{botNumber, annaNumber}, LID: lid})
		w.run()
		self, anna := w.bot.JID(), w.anna.Phone.JID()
		if lid {
			self, anna = w.bot.LID(), w.anna.Phone.LID()
		}
		ours := w.send(text(chat, "which one?"))
		w.seen(chat, 1)
		first := w.says(chat, plain("nothing special"))
		w.says(chat, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("@" + self.User + " look, @" + anna.User), ContextInfo: &waE2E.ContextInfo{MentionedJID: []string{self.String(), anna.String()}},
		}})
		w.says(chat, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("the first"), ContextInfo: &waE2E.ContextInfo{
				StanzaID: &ours.ID, Participant: proto.String(self.String()), QuotedMessage: plain("which one?"),
			},
		}})
		w.says(chat, &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String("I mean this"), ContextInfo: &waE2E.ContextInfo{
				StanzaID: &first, Participant: proto.String(anna.String()), QuotedMessage: plain("nothing special"),
			},
		}})
		got := w.received(4)
		want := []struct {
			text, quote, by string
			direct          bool
		}{
			{text: "nothing special"}, {text: "@" + self.User + " look, @Anna", direct: true},
			{text: "the first", quote: "which one?", by: "+" + botNumber, direct: true}, {text: "I mean this", quote: "nothing special", by: "Anna"},
		}
		for i, m := range got {
			quote, by := "", ""
			if m.Quote != nil {
				quote, by = m.Quote.Text, m.Quote.From
			}
			if m.Text != want[i].text || m.Direct != want[i].direct || quote != want[i].quote || by != want[i].by {
				t.Errorf("lid %t: message %d came in as %+v quoting %q of %q, want %+v", lid, i, m, quote, by, want[i])
			}
			if m.From != "Anna" || m.Chat != chat {
				t.Errorf("lid %t: message %d is of %q in %s", lid, i, m.From, m.Chat)
			}
		}
		// And the other way round: an answer points at a member's message.
		answer := text(chat, "that one")
		answer.ReplyTo = first
		w.send(answer)
		about := w.seen(chat, 2)[1].Message.GetExtendedTextMessage().GetContextInfo()
		if about.GetStanzaID() != first || about.GetParticipant() != anna.String() || about.GetQuotedMessage().GetConversation() != "nothing special" {
			t.Errorf("lid %t: the answer points at %v", lid, about)
		}
		unknown := text(chat, "what was it?")
		unknown.ReplyTo = "3EB0FFFFFFFFFFFFFFFFFF"
		if r, err := channeltest.Descend(soon(t), w.ch, unknown); err != nil || !strings.Contains(r.Note, "too old to be known, so it goes as no answer") {
			t.Errorf("an answer to what nobody knows: %+v, %v", r, err)
		}
	}
}

func TestEveryKindOfFileComesIn(t *testing.T) {
	w := newWorld(t).run()
	for i, tt := range []struct {
		kind, mime, name string
		want             media.Info
	}{
		{"image", "image/jpeg", "", media.Info{Kind: media.Image, MIME: "image/jpeg"}},
		{"video", "video/mp4", "", media.Info{Kind: media.Video, MIME: "video/mp4"}},
		{"audio", "audio/mpeg", "", media.Info{Kind: media.Audio, MIME: "audio/mpeg"}},
		{"voice", "audio/ogg; codecs=opus", "", media.Info{Kind: media.Voice, MIME: "audio/ogg"}},
		{"sticker", "image/webp", "", media.Info{Kind: media.Sticker, MIME: "image/webp"}},
		{"document", "application/pdf", "../../etc/plan.pdf", media.Info{Kind: media.Document, MIME: "application/pdf", Name: "plan.pdf"}},
		{"document", "", "\x1b[2Jx\u202etxt.exe", media.Info{Kind: media.Document, MIME: "application/octet-stream"}},
	} {
		data := noise(50_000 + i)
		id, err := w.anna.SendFile(soon(t), waJID(family), whatsapptest.File{Kind: tt.kind, MIME: tt.mime, Name: tt.name, Body: bytes.NewReader(data)})
		if err != nil {
			t.Fatal(err)
		}
		m := w.received(i + 1)[i]
		if m.ID != id || len(m.Files) != 1 {
			t.Fatalf("%s came in as %+v", tt.kind, m)
		}
		f := m.Files[0].Info
		if f.Kind != tt.want.Kind || f.MIME != tt.want.MIME || tt.want.Name != "" && f.Name != tt.want.Name ||
			f.Name == "" || f.Name != media.SafeName(f.Name) || f.Size != int64(len(data)) {
			t.Errorf("%s came in as %+v, want %+v", tt.kind, f, tt.want)
		}
		w.in.mu.Lock()
		if !bytes.Equal(w.in.bodies[id], data) {
			t.Errorf("%s came in with other bytes", tt.kind)
		}
		w.in.mu.Unlock()
	}
}

func TestExpiredMediaIsAskedForAgain(t *testing.T) {
	w := newWorld(t).run()
	wait := make(chan struct{})
	w.in.mu.Lock()
	w.in.hold = wait
	w.in.mu.Unlock()
	data := noise(70_000)
	id, err := w.anna.SendFile(soon(t), waJID(family), whatsapptest.File{Kind: "image", MIME: "image/png", Body: bytes.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	w.srv.ExpireMedia()
	close(wait)
	w.received(1)
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	if !bytes.Equal(w.in.bodies[id], data) {
		t.Error("the file came in with other bytes")
	}
}

func TestAFileOfAMemberIsBounded(t *testing.T) {
	w := newWorld(t, func(o *whatsapp.Options) { o.MaxInbound = 10_000 }).run()
	open := func(m channel.Inbound) error {
		r, err := w.ch.Fetch(soon(t), refOf(m, m.Files[0]))
		if err == nil {
			r.Close()
		}
		return err
	}
	var errs []error
	w.in.mu.Lock()
	w.in.check = func(m channel.Inbound) { errs = append(errs, open(m)) }
	w.in.mu.Unlock()
	if _, err := w.anna.SendFile(soon(t), waJID(family), whatsapptest.File{Body: bytes.NewReader(noise(10_001))}); err != nil {
		t.Fatal(err)
	}
	// And one that lies about its length.
	up, err := w.anna.Client.Upload(soon(t), noise(200_000), "WhatsApp Document Keys")
	if err != nil {
		t.Fatal(err)
	}
	w.says(family, &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
		FileSHA256: up.FileSHA256, FileLength: proto.Uint64(100), FileName: proto.String("small.txt"),
	}})
	w.received(2)
	for i, err := range errs {
		if err == nil {
			t.Errorf("file %d was read", i)
		}
	}
}

func TestACorruptDownloadIsNotRead(t *testing.T) {
	w := newWorld(t).run()
	w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnDownload, Do: whatsapptest.Corrupt})
	var err error
	w.in.mu.Lock()
	w.in.check = func(m channel.Inbound) { _, err = w.ch.Fetch(soon(t), refOf(m, m.Files[0])) }
	w.in.mu.Unlock()
	if _, err := w.anna.SendFile(soon(t), waJID(family), whatsapptest.File{Body: bytes.NewReader(noise(5000))}); err != nil {
		t.Fatal(err)
	}
	w.received(1)
	if err == nil {
		t.Error("bytes that are not what Anna sent were read")
	}
}

func TestWhatTheHostDoesNotKeepIsHandedOverAgain(t *testing.T) {
	w := newWorld(t).run()
	w.in.mu.Lock()
	w.in.refuse = errors.New("the disk is full")
	w.in.mu.Unlock()
	id, err := w.anna.SendText(soon(t), waJID(family), "please keep this")
	if err != nil {
		t.Fatal(err)
	}
	w.until("the message was handed over", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return w.in.calls > 0
	})
	w.restart() // with an Inbox that keeps
	if m := w.received(1)[0]; m.ID != id || m.Text != "please keep this" {
		t.Errorf("after the restart %+v came in", m)
	}
	// Not a second time.
	w.restart()
	w.says(family, plain("more"))
	if m := w.received(1)[0]; m.Text != "more" {
		t.Errorf("%q came in again", m.Text)
	}
}

func TestASlowChatDoesNotDelayAnother(t *testing.T) {
	w := newWorld(t).run()
	wait := make(chan struct{})
	w.in.mu.Lock()
	w.in.hold = wait
	w.in.mu.Unlock()
	w.says(family, plain("slow"))
	w.until("the slow one is being received", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return w.in.holding > 0
	})
	w.in.mu.Lock()
	w.in.hold = nil
	w.in.mu.Unlock()
	w.says(work, plain("fast"))
	if m := w.received(1)[0]; m.Text != "fast" {
		t.Errorf("%q came in first", m.Text)
	}
	w.send(text(family, "sends go out meanwhile"))
	close(wait)
	w.received(2)
}

func TestWhatConcernsNobodyIsNotKept(t *testing.T) {
	w := newWorld(t, func(o *whatsapp.Options) { o.Chats = []groups.JID{family} }).run()
	w.says(work, plain("in a group that is not registered"))
	w.says(groups.JID(w.bot.JID().String()), plain("directly"))
	w.says(family, &waE2E.Message{PollUpdateMessage: &waE2E.PollUpdateMessage{ // a vote, which needs the poll to be read
		PollCreationMessageKey: w.anna.Client.BuildMessageKey(waJID(family), types.EmptyJID, "3EB0AA"),
	}})
	w.send(text(family, "our own"))
	w.says(family, plain("to the assistant"))
	if got := w.received(1); len(got) != 1 || got[0].Text != "to the assistant" {
		t.Errorf("%+v came in", got)
	}
}

func TestADirectMessageComesInUnderTheRegisteredName(t *testing.T) {
	for _, to := range []string{"number", "hidden id"} {
		w := newWorld(t)
		chat := groups.JID(w.anna.Phone.JID().String())
		w.opts.Chats = []groups.JID{chat}
		w.open()
		w.run()
		bot := w.bot.JID()
		if to == "hidden id" {
			bot = w.bot.LID()
		}
		w.says(groups.JID(bot.String()), plain("hello"))
		if m := w.received(1)[0]; m.Chat != chat || m.From != "Anna" || m.Text != "hello" {
			t.Errorf("to the %s: %+v came in, want it in %s", to, m, chat)
		}
	}
}

func TestMessagesOfTheTimeOfflineComeIn(t *testing.T) {
	w := newWorld(t).run()
	w.says(family, plain("before")) // so that the keys are exchanged
	w.received(1)
	w.stop()
	for _, s := range []string{"one", "two", "three"} {
		w.says(family, plain(s))
	}
	w.open()
	w.run()
	var texts []string
	for _, m := range w.received(3) {
		texts = append(texts, m.Text)
	}
	if !slices.Equal(texts, []string{"one", "two", "three"}) {
		t.Errorf("%v came in", texts)
	}
}

func TestReceiptsAreReportedOnceEach(t *testing.T) {
	w := newWorld(t).run()
	r := w.send(text(family, "hello"))
	e := w.seen(family, 1)[0]
	for range 3 {
		if err := w.anna.MarkRead(soon(t), e); err != nil {
			t.Fatal(err)
		}
	}
	end := w.send(text(family, "end"))
	w.until("the last delivery is reported", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return slices.Contains(w.in.reports, string(family)+" "+end.ID+" delivered")
	})
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	for _, want := range []string{" delivered", " read"} {
		n := 0
		for _, got := range w.in.reports {
			if got == string(family)+" "+r.ID+want {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q was reported %d times: %v", want, n, w.in.reports)
		}
	}
}

// A member's device that has lost its sessions asks for the message again,
// after this host was restarted and the library's own memory is gone. Her
// receipt for the first message is with the server before she goes, so that she
// asks for one alone.
func TestADeviceThatCannotDecryptGetsTheMessageAfterARestart(t *testing.T) {
	for _, lid := range []bool{false, true} {
		w := newWorld(t)
		chat := groups.JID("120363000000000008@g.us")
		w.srv.AddGroup(whatsapptest.Group{JID: waJID(chat), Members: []string{botNumber, annaNumber}, LID: lid})
		w.run()
		w.send(text(chat, "first"))
		w.seen(chat, 1)
		w.anna.Disconnect()
		m := document(chat, noise(3000))
		r := w.send(m)
		if err := w.anna.WipeSessions(soon(t)); err != nil {
			t.Fatal(err)
		}
		w.restart()
		if err := w.anna.Reconnect(soon(t)); err != nil {
			t.Fatal(err)
		}
		e := w.seen(chat, 2)[1]
		if e.Info.ID != r.ID || w.fetch(e.Message).SHA256 != m.Files[0].SHA256 {
			t.Errorf("lid %t: Anna sees %s", lid, e.Info.ID)
		}
		for _, relayed := range w.srv.Relayed(waJID(chat)) {
			if relayed.ID == r.ID && (relayed.Times != 1 || relayed.Retries == 0) {
				t.Errorf("lid %t: %+v, want one message with a retry", lid, relayed)
			}
		}
	}
}

func TestTypingIsShown(t *testing.T) {
	w := newWorld(t).run()
	w.ch.Typing(soon(t), family, "", true)
	w.ch.Typing(soon(t), family, "", false)
	w.ch.Typing(soon(t), "web:family", "", true) // none of ours: nothing happens
	w.send(text(family, "the connection is still good"))
}
