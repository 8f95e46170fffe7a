package bot

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/store"
)

func newBot(dir string) *Bot { return newBotOf(dir, "post") }

func newBotOf(dir, platform string) *Bot {
	home := store.Home{}
	return New(channel.Setup{Name: "post-work", Dir: dir, Home: home, Log: slog.New(slog.DiscardHandler), Chats: []channel.NamedChat{{JID: "post:desk"}}}, platform, "Post", time.Hour)
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

// The codes are those that an operator finds in docs/operations.md.
func TestTwoProcessesShareNoStore(t *testing.T) {
	for platform, code := range map[string]string{"slack": "slack_in_use", "discord": "discord_in_use", "telegram": "telegram_in_use", "push": "push_in_use"} {
		t.Run(platform, func(t *testing.T) { twoProcesses(t, platform, code) })
	}
}

func twoProcesses(t *testing.T, platform, code string) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first, second := newBotOf(dir, platform), newBotOf(dir, platform)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- first.Run(ctx, nil, post{Bot: first}) }()
		synctest.Wait()
		later, endSecond := context.WithCancel(t.Context())
		go func() { ended <- second.Run(later, nil, post{Bot: second}) }()
		synctest.Wait()
		var held *channel.Error
		if _, _, _, err := second.Enter(ctx); !errors.As(err, &held) || held.Code != code || held.Class != channel.Held {
			t.Errorf("the second process answers a Send with %v", err)
		}
		if ok, _ := second.Connected(); ok {
			t.Error("the second process says that it is connected")
		}
		end()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		time.Sleep(busyFor)
		synctest.Wait()
		if _, _, leave, err := second.Enter(later); err != nil {
			t.Errorf("the store is free, and the second process does not take it: %v", err)
		} else {
			leave()
		}
		endSecond()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}

func TestWhatASendUsesStaysOpenUntilItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBot(t.TempDir())
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
			t.Errorf("the journal was closed below a Send: %v", err)
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
		b, given := newBot(t.TempDir()), make(chan journal.Inbound, 1)
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
