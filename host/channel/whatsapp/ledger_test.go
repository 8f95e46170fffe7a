package whatsapp

import (
	"fmt"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/types"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/groups"
)

func testLedger(t *testing.T) *ledger {
	t.Helper()
	l, err := openLedger(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func words(s string) *waE2E.Message { return &waE2E.Message{Conversation: proto.String(s)} }

func TestTheLedgerForgetsWhatIsOldOrTooMuch(t *testing.T) {
	l, ctx, now := testLedger(t), t.Context(), time.Now()
	put := func(id string, age time.Duration, acked bool) {
		t.Helper()
		must(t, l.putSent(ctx, sentMessage{id: id, chat: "1@g.us", message: words(id), created: now.Add(-age)}))
		if acked {
			must(t, l.ackSent(ctx, id, now))
		}
	}
	for i := range keepMessages + 5 {
		put(fmt.Sprintf("S%04d", i), time.Duration(keepMessages+5-i)*time.Second, true)
	}
	put("OLD", 8*24*time.Hour, true)
	put("OLD AND OPEN", 8*24*time.Hour, false)
	put("OPEN", 24*time.Hour, false)
	must(t, l.prune(ctx))
	for id, want := range map[string]bool{"S0000": false, "S0020": true, fmt.Sprintf("S%04d", keepMessages+4): true, "OLD": false, "OLD AND OPEN": false, "OPEN": true} {
		m, err := l.sent(ctx, id)
		if err != nil || (m != nil) != want {
			t.Errorf("%s is known: %t, %v; want %t", id, m != nil, err, want)
		}
	}
}

func TestAMessageIsInTheLedgerOnceAndInOrder(t *testing.T) {
	l, ctx := testLedger(t), t.Context()
	anna, bo := types.NewJID("1", types.DefaultUserServer), types.NewJID("2", types.DefaultUserServer)
	put := func(chat groups.JID, id string, sender types.JID, text string) {
		t.Helper()
		must(t, l.putInbound(ctx, inboundMessage{chat: chat, id: id, message: words(text), received: time.Now(), info: inboundInfo{Sender: sender}}))
	}
	put("a@g.us", "1", anna, "first")
	put("a@g.us", "1", anna, "first again")
	put("a@g.us", "1", bo, "somebody else's with the same id")
	put("b@g.us", "1", anna, "elsewhere")
	var got []string
	for {
		m, err := l.nextInbound(ctx, "a@g.us")
		must(t, err)
		if m == nil {
			break
		}
		got = append(got, textOf(m.message))
		must(t, l.doneInbound(ctx, m.seq))
	}
	if len(got) != 2 || got[0] != "first" || got[1] != "somebody else's with the same id" {
		t.Errorf("handed over: %q", got)
	}
	put("a@g.us", "1", anna, "a repeat after it was kept")
	if m, err := l.nextInbound(ctx, "a@g.us"); m != nil || err != nil {
		t.Errorf("a repeat is handed over: %v, %v", m, err)
	}
	if chats, err := l.openChats(ctx); err != nil || len(chats) != 1 || chats[0] != "b@g.us" {
		t.Errorf("open chats: %v, %v", chats, err)
	}
	must(t, l.prune(ctx))
	if m, err := l.inbound(ctx, "a@g.us", "1"); m == nil || err != nil {
		t.Errorf("what is done can no longer be quoted: %v", err)
	}
}

// What a member may send is any message at all.
func FuzzMessage(f *testing.F) {
	doc := &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		FileName: proto.String("../a\x00.pdf"), Mimetype: proto.String("Application/PDF; x=y"), FileLength: proto.Uint64(1 << 63),
		ContextInfo: &waE2E.ContextInfo{QuotedMessage: words("before")},
	}}}}
	for _, m := range []*waE2E.Message{words("hello"), doc, {LocationMessage: &waE2E.LocationMessage{Name: proto.String("pier")}}, {ImageMessage: &waE2E.ImageMessage{}}} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &waE2E.Message{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		textOf(m)
		if q := contextOf(quotable(m)); q.GetQuotedMessage() != nil {
			t.Error("what is quoted quotes in turn")
		}
		if msg, info := downloadable(m, time.Unix(0, 0)); msg != nil && (info.Size < 0 || info.Name == "" || info.MIME == "" || info.Kind == "") {
			t.Errorf("a file is %+v", info)
		}
	})
}
