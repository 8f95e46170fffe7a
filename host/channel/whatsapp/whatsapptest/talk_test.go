package whatsapptest_test

import (
	"testing"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func TestMembersTalkAndSendFiles(t *testing.T) {
	for name, pick := range map[string]func(a, b *whatsapptest.Member, group types.JID) types.JID{
		"group by phone number": func(_, _ *whatsapptest.Member, group types.JID) types.JID { return group },
		"group by lid":          func(_, _ *whatsapptest.Member, group types.JID) types.JID { return group },
		"directly":              func(_, b *whatsapptest.Member, _ types.JID) types.JID { return b.Phone.JID() },
		"directly by lid":       func(_, b *whatsapptest.Member, _ types.JID) types.JID { return b.Phone.LID() },
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t)
			a, b, group := chat(t, srv, name == "group by lid")
			to := pick(a, b, group)
			id := must(a.SendText(soon(t), to, "hello"))(t)
			got := next(t, b)
			if whatsapptest.Text(got.Message) != "hello" || got.Info.ID != id || got.Info.PushName != "Anna" {
				t.Errorf("got %q, id %s from %q; want hello, %s from Anna", whatsapptest.Text(got.Message), got.Info.ID, got.Info.PushName, id)
			}
			data := noise(1 << 20)
			must(a.SendFile(soon(t), to, document(data)))(t)
			got = next(t, b)
			doc := got.Message.GetDocumentMessage()
			if doc.GetFileName() != "report.pdf" || doc.GetMimetype() != "application/pdf" || doc.GetCaption() != "the report" {
				t.Errorf("document is %q, %q, %q", doc.GetFileName(), doc.GetMimetype(), doc.GetCaption())
			}
			file := must(b.Fetch(soon(t), got.Message))(t)
			if file.SHA256 != sum(data) || file.Size != int64(len(data)) {
				t.Errorf("fetched %d bytes, hash %s; want %d, %s", file.Size, file.SHA256, len(data), sum(data))
			}
			// And back, so that both directions of the session are used.
			back := to
			if back.Server != types.GroupServer {
				back = got.Info.Chat
			}
			must(b.SendText(soon(t), back, "thanks"))(t)
			if got := next(t, a); whatsapptest.Text(got.Message) != "thanks" {
				t.Errorf("got %q back", whatsapptest.Text(got.Message))
			}
			if got := srv.Uploads(); len(got) != 1 || got[0].Status != 200 || got[0].Kind != "document" {
				t.Errorf("uploads are %+v", got)
			}
			for _, r := range srv.Relayed(types.EmptyJID) {
				if r.Times != 1 || r.Retries != 0 {
					t.Errorf("message %s was relayed %d times with %d retries", r.ID, r.Times, r.Retries)
				}
			}
			if got := srv.Relayed(types.EmptyJID)[1].MediaType; got != "document" {
				t.Errorf("media type is %q", got)
			}
		})
	}
}

func TestReceiptsReachTheSender(t *testing.T) {
	for _, lid := range []bool{false, true} {
		srv := serve(t)
		a, b, group := chat(t, srv, lid)
		id := must(a.SendText(soon(t), group, "hello"))(t)
		of := func(kind types.ReceiptType) func(*events.Receipt) bool {
			return func(r *events.Receipt) bool {
				return r.Type == kind && r.MessageIDs[0] == id && r.Chat == group
			}
		}
		r := must(whatsapptest.Await(soon(t), a, 0, of(types.ReceiptTypeDelivered)))(t)
		if r.Sender.User != b.Client.Store.GetJID().User && r.Sender.User != b.Client.Store.GetLID().User {
			t.Errorf("delivered to %s", r.Sender)
		}
		if err := b.MarkRead(soon(t), next(t, b)); err != nil {
			t.Fatal(err)
		}
		must(whatsapptest.Await(soon(t), a, 0, of(types.ReceiptTypeRead)))(t)
	}
}
