package whatsapp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// secret is a service on the host's loopback that nobody in a chat may reach.
func secret(t testing.TB) (url string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, "another group's words")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

// opened lets the Inbox open each file, as the host does, and returns what it
// read or the error, by message.
func (w *world) opened() func(id string) (string, error) {
	type result struct {
		body string
		err  error
	}
	results := map[string]result{}
	w.in.mu.Lock()
	defer w.in.mu.Unlock()
	w.in.check = func(m channel.Inbound) {
		for _, f := range m.Files {
			r, err := w.ch.Fetch(soon(w.t), refOf(m, f))
			if err != nil {
				results[m.ID] = result{err: err}
				continue
			}
			body, err := io.ReadAll(r)
			r.Close()
			results[m.ID] = result{string(body), err}
		}
	}
	return func(id string) (string, error) {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		r, ok := results[id]
		if !ok {
			w.t.Fatalf("no file of message %s was opened", id)
		}
		return r.body, r.err
	}
}

// onlyWhatsApp fails the test if anything else was dialled.
func (w *world) onlyWhatsApp() {
	w.t.Helper()
	for _, address := range w.net.Dialled() {
		host, ok := strings.CutSuffix(address, ":443")
		if !ok || host != "web.whatsapp.com" && !strings.HasSuffix(host, ".whatsapp.net") {
			w.t.Errorf("%s was dialled", address)
		}
	}
}

// place is where a file is said to lie, as all kinds of files say it.
type place struct {
	url, path             string
	key, encrypted, plain []byte
	size                  uint64
}

func (p place) of(kind string) *waE2E.Message {
	url, path := &p.url, &p.path
	if p.url == "" {
		url = nil
	}
	if p.path == "" {
		path = nil
	}
	document := &waE2E.DocumentMessage{URL: url, DirectPath: path, MediaKey: p.key, FileEncSHA256: p.encrypted, FileSHA256: p.plain, FileLength: &p.size}
	image := &waE2E.ImageMessage{URL: url, DirectPath: path, MediaKey: p.key, FileEncSHA256: p.encrypted, FileSHA256: p.plain, FileLength: &p.size}
	switch kind {
	case "image":
		return &waE2E.Message{ImageMessage: image}
	case "video":
		return &waE2E.Message{VideoMessage: &waE2E.VideoMessage{URL: url, DirectPath: path, MediaKey: p.key, FileEncSHA256: p.encrypted, FileSHA256: p.plain, FileLength: &p.size}}
	case "audio":
		return &waE2E.Message{AudioMessage: &waE2E.AudioMessage{URL: url, DirectPath: path, MediaKey: p.key, FileEncSHA256: p.encrypted, FileSHA256: p.plain, FileLength: &p.size}}
	case "sticker":
		return &waE2E.Message{StickerMessage: &waE2E.StickerMessage{URL: url, DirectPath: path, MediaKey: p.key, FileEncSHA256: p.encrypted, FileSHA256: p.plain, FileLength: &p.size}}
	case "caption":
		return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentMessage: document}}}
	case "ephemeral":
		return &waE2E.Message{EphemeralMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentMessage: document}}}
	case "view once":
		return &waE2E.Message{ViewOnceMessageV2: &waE2E.FutureProofMessage{Message: &waE2E.Message{ImageMessage: image}}}
	}
	return &waE2E.Message{DocumentMessage: document}
}

var kindsOfPlaces = []string{"document", "image", "video", "audio", "sticker", "caption", "ephemeral", "view once"}

// A member of a group had the host fetch any address and read the answer:
// without a key and a hash, the library hands over what any server brings.
func TestAMemberCannotMakeTheHostFetchAnAddress(t *testing.T) {
	w := newWorld(t).run()
	read := w.opened()
	url, asked := secret(t)
	host := strings.TrimPrefix(url, "http://")
	key := bytes.Repeat([]byte{7}, 32)
	var ids []string
	for _, kind := range kindsOfPlaces {
		for _, p := range []place{
			{url: url},
			{url: "https://" + host + "/", key: key, encrypted: key, plain: key},
			{path: "@" + host + "/x?"},
			{path: "@" + host + "/x?", key: key, encrypted: key, plain: key},
			{path: ".evil.example/x?", key: key, encrypted: key, plain: key},
			{path: "//" + host + "/x?", key: key, encrypted: key, plain: key},
			{path: `/\` + host + "/x?", key: key, encrypted: key, plain: key},
			{path: "/v/x?ccb=1", key: key, encrypted: key},
			{path: "/v/x?ccb=1", encrypted: key, plain: key},
			{path: "/v/x?ccb=1", key: key, plain: key},
			{path: "/v/x?ccb=1\r\nX: y", key: key, encrypted: key, plain: key},
		} {
			ids = append(ids, w.says(family, p.of(kind)))
		}
	}
	w.received(len(ids))
	for _, id := range ids {
		if body, err := read(id); err == nil || channel.ClassOf(err) != channel.Permanent {
			t.Errorf("message %s: read %q, error %v; want a permanent refusal", id, body, err)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("the host asked the service on loopback %d times", asked.Load())
	}
	w.onlyWhatsApp()
}

// The URL of a message counts for nothing, even if the rest of it is good.
func TestAFileIsFetchedByItsPathAlone(t *testing.T) {
	w := newWorld(t).run()
	read := w.opened()
	url, asked := secret(t)
	data := noise(3000)
	up, err := w.anna.Client.Upload(soon(t), data, "WhatsApp Document Keys")
	if err != nil {
		t.Fatal(err)
	}
	id := w.says(family, place{url: url, path: up.DirectPath, key: up.MediaKey, encrypted: up.FileEncSHA256, plain: up.FileSHA256, size: up.FileLength}.of("document"))
	w.received(1)
	if body, err := read(id); err != nil || body != string(data) {
		t.Errorf("read %d bytes, error %v", len(body), err)
	}
	if asked.Load() != 0 {
		t.Error("the host asked the message's own URL")
	}
	w.onlyWhatsApp()
}

// The phone's answer to a request for an expired file comes from a member, too.
func TestAPhonesAnswerCannotNameAHost(t *testing.T) {
	w := newWorld(t).run()
	read := w.opened()
	url, asked := secret(t)
	w.srv.RenewAt("@" + strings.TrimPrefix(url, "http://") + "/x?")
	wait := make(chan struct{})
	w.in.mu.Lock()
	w.in.hold = wait
	w.in.mu.Unlock()
	id, err := w.anna.SendFile(soon(t), waJID(family), whatsapptest.File{Kind: "image", MIME: "image/png", Body: bytes.NewReader(noise(5000))})
	if err != nil {
		t.Fatal(err)
	}
	w.srv.ExpireMedia()
	close(wait)
	w.received(1)
	if body, err := read(id); err == nil || channel.ClassOf(err) != channel.Permanent {
		t.Errorf("read %q, error %v", body, err)
	}
	if asked.Load() != 0 {
		t.Error("the host asked the service on loopback")
	}
	w.onlyWhatsApp()
}

// lyingResolver is a network whose names lead to a private address.
type lyingResolver struct{ *whatsapptest.Network }

func (lyingResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
}

// A name below whatsapp.net that leads to the host's own network, because a
// resolver lies, reaches nothing; and the library does not try it again.
func TestMediaAreNotFetchedFromAPrivateAddress(t *testing.T) {
	w := newWorld(t)
	w.opts.Network = lyingResolver{w.net}
	w.open()
	w.run()
	read := w.opened()
	id, err := w.anna.SendFile(soon(t), waJID(family), whatsapptest.File{Body: bytes.NewReader(noise(5000))})
	if err != nil {
		t.Fatal(err)
	}
	w.received(1)
	if body, err := read(id); !errors.Is(err, transfer.ErrRefused) {
		t.Errorf("read %q, error %v", body, err)
	}
	if n := strings.Count(w.log.String(), "retrying in"); n > 1 {
		t.Errorf("the library tried %d times", n)
	}
	w.onlyWhatsApp()
}
