package whatsapp_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func TestPairingByAPhoneCode(t *testing.T) {
	w := emptyWorld(t, func(o *whatsapp.Options) { o.DeviceName = "Harbour office" })
	ctx := soon(t)
	err := w.ch.Pair(ctx, whatsapp.PairOptions{Phone: "+49 155 5000 0000", Show: onCode(func(code string) {
		go func() {
			if len(code) != 9 || code[4] != '-' {
				t.Errorf("the code is %q", code)
			}
			if _, err := w.bot.EnterCode(ctx, code); err != nil {
				t.Errorf("enter the code: %v", err)
			}
		}()
	})})
	if err != nil {
		t.Fatal(err)
	}
	if d := w.bot.Devices(); len(d) != 1 || d[0].Name != "Harbour office" {
		t.Errorf("the phone lists %+v", d)
	}
	w.run()
	w.send(text(family, "hello"))
	w.seen(family, 1)
}

func TestTheDeviceIsListedUnderItsName(t *testing.T) {
	w := newWorld(t)
	if d := w.bot.Devices(); len(d) != 1 || d[0].Name != "Longshore" {
		t.Errorf("the phone lists %+v", d)
	}
	if jid, ok := w.ch.Paired(); !ok || !strings.HasPrefix(jid, botNumber+":") {
		t.Errorf("paired as %q, %t", jid, ok)
	}
	if err := w.ch.Pair(soon(t), whatsapp.PairOptions{Show: onQR(noQR)}); !errors.Is(err, whatsapp.ErrPaired) {
		t.Errorf("pairing again: %v", err)
	}
}

// The library tells that the phone has agreed from a goroutine of its own. If
// the device was logged in before that had its turn, pairing failed.
func TestALoginThatIsToldBeforeThePairingPairs(t *testing.T) {
	over := make(chan struct{})
	w := emptyWorld(t, func(o *whatsapp.Options) {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if strings.HasPrefix(a.Value.String(), "Successfully paired") {
				<-over
			}
			return a
		}}))
	})
	defer close(over)
	w.pair()
	w.run()
}

func TestABanIsToldWhilePairing(t *testing.T) {
	w := emptyWorld(t)
	w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnLogin, Do: whatsapptest.Refuse, Code: 402, BanCode: 101, Expire: time.Hour})
	if err := w.ch.Pair(soon(t), whatsapp.PairOptions{Show: onQR(noQR)}); err == nil || !strings.Contains(err.Error(), "banned the account") {
		t.Errorf("pairing while banned: %v", err)
	}
}

func TestPairingCanBeGivenUpAndBegunAgain(t *testing.T) {
	w := emptyWorld(t)
	ctx, cancel := context.WithCancel(soon(t))
	err := w.ch.Pair(ctx, whatsapp.PairOptions{Show: onQR(func(code string, wait time.Duration) {
		if strings.Count(code, ",") != 3 || wait <= 0 {
			t.Errorf("code %q for %v", code, wait)
		}
		cancel()
	})})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Pair: %v", err)
	}
	w.pair()
}

func TestPairingWithNobodyThereFails(t *testing.T) {
	w := emptyWorld(t)
	w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnConnect, Do: whatsapptest.Refuse, Code: 500})
	if err := w.ch.Pair(soon(t), whatsapp.PairOptions{Show: onQR(noQR)}); err == nil {
		t.Error("paired with a server that does not answer")
	}
	w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnLogin, Do: whatsapptest.Refuse, Code: 405})
	if err := w.ch.Pair(soon(t), whatsapp.PairOptions{Show: onQR(noQR)}); err == nil || !strings.Contains(err.Error(), "update the host") {
		t.Errorf("pairing an outdated client: %v", err)
	}
}

// A number that is none was found out only after the server had been asked.
func TestANumberIsCheckedBeforeAnythingIsSent(t *testing.T) {
	w := emptyWorld(t)
	w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnConnect, Do: whatsapptest.Refuse, Code: 500})
	for _, phone := range []string{"12", "0155 5000000", "mine"} {
		if err := w.ch.Pair(soon(t), whatsapp.PairOptions{Phone: phone, Show: onQR(noQR)}); err == nil || !strings.Contains(err.Error(), "country code") {
			t.Errorf("pairing by the number %s: %v", phone, err)
		}
	}
}

func TestUnpairingRemovesTheDeviceAndItsKeys(t *testing.T) {
	for _, running := range []bool{false, true} {
		w := newWorld(t)
		if running {
			w.run()
		}
		if err := w.ch.Unpair(soon(t)); err != nil {
			t.Fatal(err)
		}
		if d := w.bot.Devices(); len(d) != 0 {
			t.Errorf("running %t: the phone still lists %+v", running, d)
		}
		if running {
			w.held("whatsapp_not_paired", "pair whatsapp")
			w.stop()
		}
		if jid, ok := w.ch.Paired(); ok {
			t.Errorf("running %t: still paired as %s", running, jid)
		}
		if err := w.ch.Unpair(soon(t)); !errors.Is(err, whatsapp.ErrNotPaired) {
			t.Errorf("running %t: unpairing again: %v", running, err)
		}
	}
}

func TestTheJoinedGroupsAreListed(t *testing.T) {
	w := newWorld(t)
	w.srv.AddGroup(whatsapptest.Group{JID: waJID(nobody), Subject: "announcements\x1b[2J", Members: []string{annaNumber, botNumber}, Announce: true})
	want := []channel.Chat{
		{JID: nobody, Name: `announcements\x1b[2J`, Members: 2, Note: "only admins may write; the account is none"},
		{JID: family, Name: "Family", Members: 2},
		{JID: work, Name: "Work", Members: 2},
	}
	for _, running := range []bool{false, true} {
		if running {
			w.run()
		}
		got, err := w.ch.Chats(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("running %t: %s", running, diff)
		}
	}
	if _, err := emptyWorld(t).ch.Chats(soon(t)); !errors.Is(err, whatsapp.ErrNotPaired) {
		t.Errorf("without an account: %v", err)
	}
}

// What Pair, Chats and the like meet on their way is left to Run.
func TestAShortConnectionLosesNoMessage(t *testing.T) {
	w := newWorld(t).run()
	w.says(family, plain("before"))
	w.received(1)
	w.stop()
	w.says(family, plain("while nobody runs"))
	w.open()
	if _, err := w.ch.Chats(soon(t)); err != nil {
		t.Fatal(err)
	}
	w.run()
	if m := w.received(1)[0]; m.Text != "while nobody runs" {
		t.Errorf("%q came in", m.Text)
	}
}

func TestTheStoreIsPrivateAndHoldsNoFiles(t *testing.T) {
	w := newWorld(t)
	if err := os.Chmod(w.opts.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.send(document(family, noise(100_000)))
	var modes []string
	err := filepath.WalkDir(w.opts.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			modes = append(modes, path+" "+info.Mode().String())
		}
		if !d.IsDir() && strings.Contains(path, "whatsapp-tmp") {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil || len(modes) > 0 {
		t.Errorf("others may read %v, %v", modes, err)
	}
	left := filepath.Join(w.opts.Dir, "whatsapp-tmp", "bytes-1") // of a crash
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file of a crash is still there: %v", err)
	}
}

func TestTheLogHoldsNoSecrets(t *testing.T) {
	w := emptyWorld(t)
	var codes []string
	ctx := soon(t)
	if err := w.ch.Pair(ctx, whatsapp.PairOptions{Show: onQR(func(code string, _ time.Duration) {
		codes = append(codes, strings.Split(code, ",")...)
		go func() { _, _ = w.bot.Scan(ctx, code) }()
	})}); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.send(text(family, "a confidential text"))
	w.says(family, plain("another confidential text"))
	w.received(1)
	w.lost(func(w *world) { w.bot.StreamError(599) })
	w.once(text(work, "over"))
	written := w.log.String()
	for _, secret := range append(codes, "confidential", "<stream", "\x1b") {
		if strings.Contains(written, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if !strings.Contains(written, "connected to WhatsApp") {
		t.Errorf("the log is\n%s", written)
	}
}

// TestAKillWhileUnpairingLeftTheMessagesOfTheOldAccount, which the next account then had.
func TestAKillWhileUnpairingLeftTheMessagesOfTheOldAccount(t *testing.T) {
	w := newWorld(t).run()
	w.says(family, plain("of the old account"))
	w.received(1)
	w.stop()
	if _, err := w.opts.State.Exec(t.Context(), `CREATE TRIGGER ends BEFORE DELETE ON journal_inbound BEGIN SELECT RAISE(ABORT, 'here it ends'); END`); err != nil {
		t.Fatal(err)
	}
	if err := w.ch.Unpair(soon(t)); err == nil || !strings.Contains(err.Error(), "here it ends") {
		t.Fatalf("unpaired: %v", err)
	}
	if _, err := w.opts.State.Exec(t.Context(), `DROP TRIGGER ends`); err != nil {
		t.Fatal(err)
	}
	w.pair()
	w.open()
	w.run()
	var left int
	if err := w.opts.State.QueryRow(`SELECT count(*) FROM journal_inbound`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d messages are left, %v", left, err)
	}
}
