package whatsapp

import (
	"context"
	"fmt"
	"mime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.mau.fi/whatsmeow/proto/waAdv"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/decode"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/directory"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/messages"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/media"
)

const (
	fuzzGroup = groups.JID("120363000000000001@g.us")
	fuzzOurs  = "3EB0000000000000000001" // the id of a message of ours
	fuzzAnnas = "3EB0000000000000000002" // and of Anna's
)

var (
	fuzzSelf = types.NewJID("4915550000000", types.DefaultUserServer)
	fuzzAnna = types.NewJID("4915550000001", types.DefaultUserServer)
	fuzzLID  = types.NewJID("100000000000001", types.HiddenUserServer)
)

// fuzzSession is an open store without a connection: the account knows Anna by
// both addresses, has sent a message, and has received one of hers.
func fuzzSession(f testing.TB) *session {
	w, err := New(Options{Dir: f.TempDir(), State: statetest.Open(f, f.TempDir())})
	if err != nil {
		f.Fatal(err)
	}
	s, err := w.open(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := s.close(); err != nil {
			f.Error(err)
		}
	})
	self := fuzzSelf
	s.people.Device.Account = &waAdv.ADVSignedDeviceIdentity{ // what the store insists on
		Details: []byte{}, AccountSignatureKey: make([]byte, 32), AccountSignature: make([]byte, 64), DeviceSignature: make([]byte, 64),
	}
	s.people.Device.ID, s.people.Me, s.people.LID = &self, fuzzSelf, types.NewJID("100000000000000", types.HiddenUserServer)
	ctx := context.Background()
	for _, err := range []error{
		s.keys.Container.PutDevice(ctx, s.people.Device),
		s.people.Device.LIDs.PutLIDMapping(ctx, fuzzLID, fuzzAnna),
		s.messages.PutSent(ctx, messages.Sent{Sent: journal.Sent{ID: fuzzOurs, Chat: fuzzGroup, Created: time.Now()}, Message: words("ours")}),
		s.messages.PutInbound(ctx, messages.Inbound{Inbound: journal.Inbound{Chat: fuzzGroup, ID: fuzzAnnas}, Message: words("Anna's"), Meta: fuzzInfo(true, "Anna")}),
		w.opts.State.Do(ctx, func(t *state.Tx) error { return s.messages.Done(t, 1) }, nil),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	return s
}

func fuzzInfo(group bool, push string) decode.Meta {
	info := decode.Meta{Chat: fuzzAnna, Sender: fuzzAnna, Alt: fuzzLID, IsGroup: group, PushName: push, Time: time.Unix(1, 0)}
	if group {
		info.Chat = waAddress(fuzzGroup)
	}
	return info
}

func waAddress(chat groups.JID) types.JID {
	j, _ := types.ParseJID(string(chat))
	return j
}

// fuzzSeeds are a message of every kind that carries words or a file, in every
// wrapping, and what goes with them.
func fuzzSeeds() []*waE2E.Message {
	about := func(id string, who types.JID) *waE2E.ContextInfo {
		return &waE2E.ContextInfo{
			StanzaID: &id, Participant: proto.String(who.String()), QuotedMessage: words("as I said"),
			MentionedJID: []string{fuzzSelf.String(), fuzzLID.String(), "x", "@", "1:2@lid"},
		}
	}
	media := func(name string) (url, path, kind *string, size *uint64) {
		return proto.String("https://mmg.whatsapp.net/" + name), proto.String("/v/" + name + "?ccb=1"), proto.String("Application/PDF; x=y\r\n"), proto.Uint64(1 << 63)
	}
	url, path, kind, size := media("a")
	document := &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		URL: url, DirectPath: path, Mimetype: kind, FileLength: size, FileName: proto.String("../a\x00\u202efdp.exe"), Caption: proto.String("see"), ContextInfo: about(fuzzOurs, fuzzSelf),
	}}
	key := &waCommon.MessageKey{ID: proto.String(strings.Repeat("\xff\n", 100)), FromMe: proto.Bool(true)}
	plain := []*waE2E.Message{
		{ReactionMessage: &waE2E.ReactionMessage{Key: key, Text: proto.String("👍🏽\u202e\x1b[2J" + strings.Repeat("❤", 100))}},
		{ProtocolMessage: &waE2E.ProtocolMessage{Key: key, Type: waE2E.ProtocolMessage_REVOKE.Enum()}},
		{ProtocolMessage: &waE2E.ProtocolMessage{Key: key, Type: waE2E.ProtocolMessage_MESSAGE_EDIT.Enum(), EditedMessage: words("@100000000000001 edited")}},
		words("hello @4915550000000, @100000000000001"), words(strings.Repeat("é", 100_000)), words("\xff\x00\x1b[31m\u202e"), {},
		{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("@100000000000001 and @4915550000000"), ContextInfo: about(fuzzAnnas, fuzzLID)}},
		{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String("no, you"), ContextInfo: about(strings.Repeat("\n\xff", 200), types.JID{User: "\x00", Server: "lid"})}},
		{ImageMessage: &waE2E.ImageMessage{URL: url, DirectPath: path, Mimetype: kind, FileLength: size, Caption: proto.String("c")}}, {ImageMessage: &waE2E.ImageMessage{}},
		{VideoMessage: &waE2E.VideoMessage{URL: url, DirectPath: path, Mimetype: proto.String("video/mp4"), GifPlayback: proto.Bool(true)}},
		{AudioMessage: &waE2E.AudioMessage{URL: url, DirectPath: path, Mimetype: proto.String("audio/ogg; codecs=opus"), PTT: proto.Bool(true)}},
		{AudioMessage: &waE2E.AudioMessage{Mimetype: proto.String("no type")}}, {AudioMessage: &waE2E.AudioMessage{Mimetype: proto.String("a/" + strings.Repeat("b", 300))}},
		{StickerMessage: &waE2E.StickerMessage{URL: url, DirectPath: path, Mimetype: proto.String("image/webp")}},
		{LocationMessage: &waE2E.LocationMessage{DegreesLatitude: proto.Float64(1e308), Name: proto.String("pier")}},
		{ContactMessage: &waE2E.ContactMessage{DisplayName: proto.String("C"), Vcard: proto.String("BEGIN:VCARD")}},
		{ReactionMessage: &waE2E.ReactionMessage{Text: proto.String("👍")}}, {ProtocolMessage: &waE2E.ProtocolMessage{}}, document,
		newer(&waE2E.Message{}), {ProtocolMessage: newer(&waE2E.ProtocolMessage{Key: key})},
		{EncReactionMessage: &waE2E.EncReactionMessage{TargetMessageKey: key, EncIV: []byte{1}, EncPayload: []byte{1}}},
	}
	seeds := append([]*waE2E.Message(nil), plain...)
	inner := &waE2E.FutureProofMessage{Message: document}
	return append(seeds,
		&waE2E.Message{DocumentWithCaptionMessage: inner}, &waE2E.Message{EphemeralMessage: inner}, &waE2E.Message{ViewOnceMessage: inner},
		&waE2E.Message{ViewOnceMessageV2: inner}, &waE2E.Message{EditedMessage: inner}, &waE2E.Message{LottieStickerMessage: inner},
		&waE2E.Message{DeviceSentMessage: &waE2E.DeviceSentMessage{Message: document}},
		&waE2E.Message{EphemeralMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentWithCaptionMessage: inner}}}}},
		&waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{}},
	)
}

// FuzzInbound: whatever message a member's phone makes, under whatever id and
// name, it is refused or kept, and what the host gets of it is bounded text, a
// safe file name, a real MIME type, and a quote that claims no more than the
// record knows. What quotes it in turn is bounded too.
func FuzzInbound(f *testing.F) {
	s := fuzzSession(f)
	for i, m := range fuzzSeeds() {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "3EB0AA", "Anna", i%2 == 0)
	}
	f.Add([]byte("\x0a\x01a"), "\x00\x1b'; --", "\u202eannA\n", true)
	f.Fuzz(func(t *testing.T, b []byte, id, push string, group bool) {
		m := &waE2E.Message{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		row := s.fuzzKeep(t, m, id, push, group)
		if row == nil {
			return
		}
		checkInbound(t, s.inbound(t.Context(), row))
		about, err := s.contextInfo(t.Context(), outgoing{Message: channel.Message{Chat: row.Chat, ReplyTo: row.ID}}, directory.Facts{Hidden: group})
		if channel.FormOf(err) == channel.FormReply { // an event, which nobody answers
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if q := decode.ContextOf(about.GetQuotedMessage()); q.GetQuotedMessage() != nil || proto.Size(about) > decode.MaxQuoted+1<<10+len(id) {
			t.Errorf("an answer repeats %d bytes: %v", proto.Size(about), about)
		}
	})
}

// fuzzKeep takes a message as the library hands it over, and returns its row; nil if
// it was not kept. The row is removed from the journal when the run is over.
func (s *session) fuzzKeep(t *testing.T, m *waE2E.Message, id, push string, group bool) *messages.Inbound {
	info := fuzzInfo(group, push)
	e := &events.Message{RawMessage: m, Info: types.MessageInfo{ID: id, PushName: push, Timestamp: info.Time, MessageSource: types.MessageSource{
		Chat: info.Chat, Sender: info.Sender, SenderAlt: info.Alt, IsGroup: group,
	}}}
	if !s.recordMessage(e.UnwrapRaw()) {
		t.Fatal("not kept, so that WhatsApp would repeat it for ever")
	}
	row, err := messages.Read(s.messages.Next(t.Context(), groups.JID(info.Chat.String()))) // an event, too
	if err != nil {
		t.Fatalf("what was kept cannot be read: %v", err)
	}
	if row == nil { // not kept, or of the id that was there before
		return nil
	}
	t.Cleanup(func() {
		if _, err := s.w.opts.State.Exec(context.Background(), `DELETE FROM journal_inbound WHERE seq = ?`, row.Seq); err != nil {
			t.Error(err)
		}
	})
	return row
}

func checkInbound(t *testing.T, in channel.Inbound) {
	t.Helper()
	texts := []string{in.From, in.Sender, in.Text}
	if len(in.Files) > 1 {
		t.Errorf("%d files of one message", len(in.Files))
	}
	for _, f := range in.Files {
		texts = append(texts, f.Name, f.MIME)
		if kind, _, err := mime.ParseMediaType(f.MIME); err != nil || kind != f.MIME || strings.Count(kind, "/") != 1 || len(kind) > 127+len("/")+127 {
			t.Errorf("a file is a %q: %v", f.MIME, err)
		}
		if media.SafeName(f.Name) != f.Name || f.Size < 0 || f.Kind == "" {
			t.Errorf("a file is %+v", f.Info)
		}
	}
	if q := in.Quote; q != nil {
		texts = append(texts, q.ID, q.From, q.Sender, q.Text)
		if q.Unverified == (q.Own || q.Sender != "") || q.Own && q.ID != fuzzOurs || q.Sender != "" && q.ID != fuzzAnnas && q.ID != in.ID {
			t.Errorf("a quote claims %+v", q)
		}
		if utf8.RuneCountInString(q.Text) > decode.MaxText || utf8.RuneCountInString(q.ID) > decode.MaxID {
			t.Errorf("a quote has %d bytes of text, %d of id", len(q.Text), len(q.ID))
		}
	}
	if n := utf8.RuneCountInString(in.Target); n > decode.MaxID || channel.CleanName(in.Emoji) != in.Emoji {
		t.Errorf("it is about %q with %q", in.Target, in.Emoji)
	}
	if in.Target != "" && (len(in.Files) > 0 || in.Quote != nil || in.Direct || in.Kind == channel.KindMessage) {
		t.Errorf("what is done to a message came in as %+v", in)
	}
	texts = append(texts, in.Target, in.Emoji, in.Author)
	if in.Kind.IsMessage() && in.Text == "" && len(in.Files) == 0 {
		t.Errorf("an empty message came in: %+v", in)
	}
	if in.Told != "" && !channel.ToldName(in.Told) {
		t.Errorf("told of %q", in.Told)
	}
	if in.Location != nil {
		texts = append(texts, in.Location.Name)
	}
	for _, s := range texts {
		if !utf8.ValidString(s) {
			t.Errorf("%q is no UTF-8", s)
		}
	}
	if channel.CleanName(in.From) != in.From || in.From == "" || strings.ContainsAny(in.From+in.Sender, "\n\x1b\x00") {
		t.Errorf("it is from %q, %q", in.From, in.Sender)
	}
	if longest := decode.MaxText * 33; utf8.RuneCountInString(in.Text) > longest { // "@1" becomes a name of 64 characters
		t.Error(fmt.Sprint(len(in.Text), " bytes of text"))
	}
}
