package whatsapp_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// held waits until a Send is held with that code, and the status says why.
func (w *world) held(code, detail string) {
	w.t.Helper()
	w.until("sends are held with "+code, func() bool {
		_, err := w.ch.Send(soon(w.t), text(family, "hello"))
		var e *channel.Error
		return errors.As(err, &e) && e.Class == channel.Held && e.Code == code && e.Hint != ""
	})
	if ok, got := w.ch.Connected(); ok || !strings.Contains(got, detail) {
		w.t.Errorf("status %t %q, want %q in it", ok, got, detail)
	}
}

func TestWhatEndsTheConnectionForGoodHoldsTheDeliveries(t *testing.T) {
	w := emptyWorld(t)
	for _, tt := range []struct {
		name   string
		do     func(w *world) // while connected
		fault  whatsapptest.Fault
		code   string
		detail string
	}{
		{name: "the device is removed", do: func(w *world) { w.bot.Unlink() }, code: "whatsapp_logged_out", detail: "pair whatsapp"},
		{name: "another process is connected", do: func(w *world) { w.bot.Replace() }, code: "whatsapp_replaced", detail: "restart"},
		{name: "logged out at the start", fault: whatsapptest.Fault{Code: 401}, code: "whatsapp_logged_out", detail: "pair whatsapp"},
		{name: "banned for a while", fault: whatsapptest.Fault{Code: 402, BanCode: 101, Expire: time.Hour}, code: "whatsapp_banned", detail: "until "},
		{name: "locked", fault: whatsapptest.Fault{Code: 403}, code: "whatsapp_logged_out", detail: "pair whatsapp"},
		{name: "outdated", fault: whatsapptest.Fault{Code: 405, Times: whatsapptest.Forever}, code: "whatsapp_outdated", detail: "update"},
		{name: "something new", fault: whatsapptest.Fault{Code: 409}, code: "whatsapp_refused", detail: "409"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.again(t)
			if tt.do != nil {
				w.run()
				tt.do(w)
			} else {
				tt.fault.On, tt.fault.Do, tt.fault.Phone = whatsapptest.OnLogin, whatsapptest.Refuse, botNumber
				defer w.srv.Fail(tt.fault).Release()
				w.begin()
			}
			w.held(tt.code, tt.detail)
			w.stop()
			if ok, detail := w.ch.Connected(); ok || detail != "not running" {
				t.Errorf("after Run: %t %q", ok, detail)
			}
		})
	}
}

func TestWhatPassesIsMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t).run()
	for name, do := range map[string]func(w *world){
		"the socket dies":     func(w *world) { w.bot.Cut() },
		"the server restarts": func(w *world) { w.bot.StreamError(503) },
		"the server restarts and takes a while": func(w *world) {
			w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnConnect, Do: whatsapptest.Refuse, Code: 503, Times: 1})
			w.bot.Cut()
		},
		"an unknown stream error": func(w *world) { w.bot.StreamError(599) },
		"a login that is not possible now": func(w *world) {
			w.srv.Fail(whatsapptest.Fault{On: whatsapptest.OnLogin, Do: whatsapptest.Refuse, Code: 503, Phone: botNumber})
			w.bot.Cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.lost(do)
			w.once(text(w.newChat(), "after all"))
		})
	}
}

// The library's own version is older than what this server takes.
func TestTheNewestVersionIsLearntFromWhatsApp(t *testing.T) {
	srv := whatsapptest.New(whatsapptest.Options{RefuseOlder: true})
	t.Cleanup(srv.Close)
	w := &world{t: t, srv: srv, bot: srv.AddPhone(botNumber, "Longshore")}
	w.opts = whatsapp.Options{Dir: t.TempDir(), State: statetest.Open(t, t.TempDir()), Network: whatsapptest.NewNetwork(srv.Addr())}
	w.open()
	w.pair()
	w.run()
}

func TestAnUnpairedChannelHoldsAndGoesOnWhenPaired(t *testing.T) {
	w := emptyWorld(t)
	if jid, ok := w.ch.Paired(); ok {
		t.Errorf("paired as %s", jid)
	}
	w.begin()
	w.held("whatsapp_not_paired", "longshore pair whatsapp")
	w.pair()
	w.connected()
	if jid, ok := w.ch.Paired(); !ok || !strings.HasPrefix(jid, botNumber) {
		t.Errorf("paired as %q %t", jid, ok)
	}
	w.send(text(family, "hello"))
	w.seen(family, 1)
}

func TestAnotherProcessMayPair(t *testing.T) {
	w := emptyWorld(t)
	w.begin()
	w.held("whatsapp_not_paired", "pair")
	running := w.ch
	w.opts.State = nil // of the host
	w.open()           // stands for the other process: it shares nothing but the directory
	w.pair()
	if jid, ok := w.ch.Paired(); !ok || !strings.HasPrefix(jid, botNumber) {
		t.Errorf("on the disk it is paired as %q %t", jid, ok)
	}
	w.ch = running
	w.connected()
}

func TestALoggedOutChannelIsPairedAgain(t *testing.T) {
	w := newWorld(t).run()
	w.bot.Unlink()
	w.held("whatsapp_logged_out", "pair")
	w.pair()
	w.connected()
	w.once(text(family, "back"))
}

// After anybody had opened the database, such as a look for damage, the status said only that no account is linked.
func TestARemovedDeviceWasSaidToBeNotLinked(t *testing.T) {
	w := newWorld(t).run()
	w.bot.Unlink()
	w.held("whatsapp_logged_out", "removed this device")
	databases, err := filepath.Glob(filepath.Join(w.opts.Dir, "*.db"))
	if err != nil || len(databases) == 0 {
		t.Fatal(databases, err)
	}
	w.until("it has looked", func() bool {
		now := time.Now()
		return os.Chtimes(databases[0], now, now) == nil && strings.Count(w.log.String(), "is stopped") > 1
	})
	w.held("whatsapp_logged_out", "removed this device")
}

func TestTwoProcessesAreNotOneDevice(t *testing.T) {
	w := newWorld(t).run()
	second, err := whatsapp.New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Pair(soon(t), whatsapp.PairOptions{Show: onQR(noQR)}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("Pair beside a running host: %v", err)
	}
	second.Reconnect(20 * time.Millisecond)
	w.ch = second
	firstStop := w.stop
	w.begin()
	w.held("whatsapp_in_use", "another process")
	firstStop()
	w.connected() // it takes over
}
