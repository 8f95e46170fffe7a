package whatsapp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
)

// FuzzAMembersMessageReachesOnlyWhatsApp sends messages of any shape through
// the whole way of a member's message: the server, the library, the journal,
// and the Inbox that opens each file as the host does. All dials of the
// process are recorded: the channel's two clients, what would use net/http's
// own transport, and questions to a name server.
func FuzzAMembersMessageReachesOnlyWhatsApp(f *testing.F) {
	w := newWorld(f)
	record(f, w)
	w.run()
	url, asked := secret(f)
	host := strings.TrimPrefix(url, "http://")
	seed(f, url, host)
	w.in.mu.Lock()
	w.in.check = func(m channel.Inbound) {
		for _, file := range m.Files {
			if r, err := w.ch.Fetch(context.Background(), refOf(m, file)); err == nil {
				_, _ = io.Copy(io.Discard, r)
				r.Close()
			}
		}
	}
	w.in.mu.Unlock()
	f.Cleanup(func() { w.t = f })
	f.Fuzz(func(t *testing.T, raw []byte, kind uint8, url, path string, key, encrypted, plainHash []byte, size uint64) {
		w.t = t
		m := &waE2E.Message{}
		if err := proto.Unmarshal(raw, m); err != nil {
			m = &waE2E.Message{}
		}
		if n := len(kindsOfPlaces); int(kind) < n {
			proto.Merge(m, place{url, path, key, encrypted, plainHash, size}.of(kindsOfPlaces[kind]))
		}
		if _, err := w.anna.Send(t.Context(), waJID(family), m); err != nil {
			t.Skip(err)
		}
		w.says(family, plain("end")) // comes in behind it
		w.ended()
		w.onlyWhatsApp()
		if n := asked.Load(); n > 0 {
			t.Errorf("the service on loopback was asked %d times", n)
		}
	})
}

// ended waits until the text "end" has come in, and forgets what came.
func (w *world) ended() {
	w.t.Helper()
	for n := 1; ; n++ {
		got := w.received(n)
		if got[len(got)-1].Text == "end" {
			break
		}
		n = len(got)
	}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	w.in.got, w.in.bodies = nil, nil
}

// record has the rest of the process dial into the world's network, too.
func record(t testing.TB, w *world) {
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	http.DefaultTransport = &http.Transport{DialContext: w.net.DialContext, DialTLSContext: w.net.DialContext}
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		w.net.Note("name server " + address)
		return nil, errors.New("no name server in this test")
	}}
	t.Cleanup(func() { http.DefaultTransport, net.DefaultResolver = transport, resolver })
}

func seed(f *testing.F, url, host string) {
	hash := bytes.Repeat([]byte{7}, 32)
	add := func(m *waE2E.Message, kind int, url, path string, hash []byte) {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, uint8(kind), url, path, hash, hash, hash, uint64(100))
	}
	none := len(kindsOfPlaces)
	for kind := range kindsOfPlaces {
		add(&waE2E.Message{}, kind, url, "", nil)
		add(&waE2E.Message{}, kind, url, "/v/gone?ccb=1", hash)
	}
	for _, path := range []string{
		"@" + host + "/x?", "//" + host + "/", `/\` + host, ".evil.example/", ":1@" + host + "/", "/v/x?#", "/v/../../x?", "/%40" + host, "/\x00", host, "/x HTTP/1.1\r\nHost: " + host, "?",
	} {
		add(&waE2E.Message{}, 0, "", path, hash)
	}
	for _, m := range []*waE2E.Message{
		plain("see " + url),
		{ExtendedTextMessage: &waE2E.ExtendedTextMessage{
			Text: proto.String(url), MatchedText: &url, ThumbnailDirectPath: proto.String("@" + host + "/x?"), ThumbnailSHA256: hash, ThumbnailEncSHA256: hash, MediaKey: hash,
			ContextInfo: &waE2E.ContextInfo{StanzaID: proto.String("3EB0"), QuotedMessage: place{url: url}.of("image"), ExternalAdReply: &waE2E.ContextInfo_ExternalAdReplyInfo{ThumbnailURL: &url, SourceURL: &url, MediaURL: &url}},
		}},
		{ProtocolMessage: &waE2E.ProtocolMessage{Type: waE2E.ProtocolMessage_HISTORY_SYNC_NOTIFICATION.Enum(),
			HistorySyncNotification: &waE2E.HistorySyncNotification{DirectPath: proto.String("@" + host + "/x?"), MediaKey: hash, FileEncSHA256: hash, FileSHA256: hash}}},
		{StickerPackMessage: &waE2E.StickerPackMessage{DirectPath: proto.String("@" + host + "/x?"), MediaKey: hash, FileEncSHA256: hash, FileSHA256: hash}},
		{TemplateMessage: &waE2E.TemplateMessage{}}, {ContactMessage: &waE2E.ContactMessage{Vcard: proto.String("PHOTO;VALUE=uri:" + url)}},
		{EditedMessage: &waE2E.FutureProofMessage{Message: place{url: url}.of("video")}},
		{DeviceSentMessage: &waE2E.DeviceSentMessage{DestinationJID: proto.String("1@s.whatsapp.net"), Message: place{url: url}.of("audio")}},
	} {
		add(m, none, "", "", nil)
	}
}
