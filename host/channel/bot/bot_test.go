package bot

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

func newBot(t *testing.T) *Bot {
	return New(channel.Setup{Name: "post-work", Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Log: slog.New(slog.DiscardHandler), Chats: []channel.NamedChat{{JID: "post:desk"}}}, Kind{YAML: "chat", People: "Post"}, time.Hour)
}

// post is a platform that is up at once.
type post struct {
	*Bot
	given chan<- journal.Inbound
}

func (p post) Give(_ context.Context, _ channel.Inbox, m journal.Inbound) error {
	p.given <- m
	return nil
}

func (post) Connect(ctx context.Context, _ *Open, up func(string)) error {
	up("connected as clerk")
	<-ctx.Done()
	return nil
}

func TestWhatASendUsesStaysOpenUntilItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBot(t)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx, nil, post{Bot: b}) }()
		synctest.Wait()
		sending, open, leave, err := b.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		end()
		synctest.Wait()
		if sending.Err() == nil {
			t.Error("the Send was not told that the run ends")
		}
		select {
		case err := <-ended:
			t.Fatalf("the run ended below a Send: %v", err)
		default:
		}
		if err := open.Journal.Record(t.Context(), journal.Sent{ID: "1", Chat: "post:desk", Body: []byte{}, Created: time.Now()}); err != nil {
			t.Errorf("below a Send, the journal says: %v", err)
		}
		leave()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := b.Enter(t.Context()); channel.ClassOf(err) != channel.Passing {
			t.Errorf("after the run, a Send is answered with %v", err)
		}
	})
}

func TestWhatWasKeptIsHandedOnAndItsFilesFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, given := newBot(t), make(chan journal.Inbound, 1)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx, nil, post{b, given}) }()
		synctest.Wait()
		m := journal.Inbound{Chat: "post:desk", ID: "m1", Info: []byte{}, Body: []byte("a card"), Received: time.Now()}
		if _, err := b.Open().Journal.KeepNew(ctx, m); err != nil {
			t.Fatal(err)
		}
		if m = <-given; m.ID != "m1" {
			t.Errorf("the host was given %q", m.ID)
		}
		file, kept, err := b.Open().Kept(ctx, channel.FileRef{Chat: "post:desk", Ref: Ref("photo-7", m.Ref())})
		if err != nil || file != "photo-7" || string(kept.Body) != "a card" {
			t.Errorf("the file %q of the message %v was found, %v", file, kept, err)
		}
		_, _, err = b.Open().Kept(ctx, channel.FileRef{Chat: "post:other", Ref: Ref("photo-7", m.Ref())})
		if err == nil || !strings.Contains(err.Error(), "does not know the message") {
			t.Errorf("another chat's file was found: %v", err)
		}
		end()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(b.Dir, "tmp", "*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}
