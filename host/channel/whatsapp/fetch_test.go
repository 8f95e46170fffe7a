package whatsapp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// Four chats that waited were all that the account served at once.
func TestChatsThatWaitDoNotStopAnother(t *testing.T) {
	w := newWorld(t)
	var chats []groups.JID
	for i := range 6 {
		chat := groups.JID(fmt.Sprintf("12036300000000010%d@g.us", i))
		w.srv.AddGroup(whatsapptest.Group{JID: waJID(chat), Members: []string{botNumber, annaNumber}})
		chats = append(chats, chat)
	}
	w.run()
	wait := make(chan struct{})
	w.in.mu.Lock()
	w.in.hold = wait
	w.in.mu.Unlock()
	for _, chat := range chats[:5] {
		w.says(chat, plain("slow"))
	}
	w.until("five are being received", func() bool {
		w.in.mu.Lock()
		defer w.in.mu.Unlock()
		return w.in.holding == 5
	})
	w.in.mu.Lock()
	w.in.hold = nil
	w.in.mu.Unlock()
	w.says(chats[5], plain("fast"))
	if m := w.received(1)[0]; m.Text != "fast" {
		t.Errorf("%q came in first", m.Text)
	}
	close(wait)
	w.received(6)
}

// arrived sends a file and lets the Inbox leave it where it is.
func (w *world) arrived(chat groups.JID, data []byte) channel.FileRef {
	w.t.Helper()
	w.in.mu.Lock()
	w.in.check = func(channel.Inbound) {}
	n := len(w.in.got)
	w.in.mu.Unlock()
	if _, err := w.anna.SendFile(soon(w.t), waJID(chat), whatsapptest.File{Body: bytes.NewReader(data)}); err != nil {
		w.t.Fatal(err)
	}
	return channel.FileRef{Chat: chat, Ref: w.received(n + 1)[n].Files[0].Ref}
}

func (w *world) fetched(f channel.FileRef) ([]byte, error) {
	r, err := w.ch.Fetch(soon(w.t), f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// A download that hung had no end: nothing of it was bounded in time.
func TestADownloadThatHangsEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ch.Window(time.Second)
	w.run()
	data := noise(100_000)
	ref := w.arrived(family, data)
	hang := w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnDownload, Do: whatsapptest.Hold, Bytes: 1000})
	defer hang.Release()
	if _, err := w.fetched(ref); !errors.Is(err, transfer.ErrSlow) || channel.ClassOf(err) != channel.Passing {
		t.Errorf("it ended with %v", err)
	}
	ref.Patient = true
	if got, err := w.fetched(ref); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the next attempt: %d bytes, %v", len(got), err)
	}
}

func TestAFileIsFetchedAfterARestart(t *testing.T) {
	w := newWorld(t).run()
	data := noise(5000)
	ref := w.arrived(family, data)
	w.stop()
	if _, err := w.fetched(ref); channel.ClassOf(err) != channel.Held {
		t.Errorf("while the channel does not run: %v", err)
	}
	w.open()
	w.run()
	if got, err := w.fetched(ref); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, bad := range []channel.FileRef{
		{Chat: work, Ref: ref.Ref}, {Chat: family, Ref: ""}, {Chat: family, Ref: "1"}, {Chat: family, Ref: "1 3EB0"}, {Chat: family, Ref: "99 x"},
	} {
		if _, err := w.fetched(bad); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// Room was asked for by the size that a member claims: many claims of 100 MiB
// left none for anybody else.
func TestADownloadAsksForRoomAsBytesCome(t *testing.T) {
	var asked int64
	w := newWorld(t, func(o *whatsapp.Options) {
		o.Host = channeltest.Host{OnReserve: func(n int64) (func(), error) { asked += n; return func() {}, nil }}
	}).run()
	read := w.opened()
	up, err := w.anna.Client.Upload(soon(t), noise(3000), "WhatsApp Document Keys")
	if err != nil {
		t.Fatal(err)
	}
	p := place{path: up.DirectPath, key: up.MediaKey, encrypted: up.FileEncSHA256, plain: up.FileSHA256, size: 90 << 20}
	id := w.says(family, p.of("document"))
	p.size = 2000 // less than there is
	short := w.says(family, p.of("document"))
	w.received(2)
	if _, err := read(id); err == nil {
		t.Error("a file of another length was taken")
	}
	if asked > 2<<20 {
		t.Errorf("room for %d bytes was asked for", asked)
	}
	if _, err := read(short); !errors.Is(err, transfer.ErrTooLarge) {
		t.Errorf("a file longer than announced: %v", err)
	}
}
