package whatsapptest_test

import (
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

func TestDevicePairsByQRCode(t *testing.T) {
	srv := whatsapptest.New(whatsapptest.Options{})
	t.Cleanup(srv.Close)
	p := srv.AddPhone(anna, "Anna")
	m := srv.NewClient(t)
	if err := m.PairQR(soon(t), p); err != nil {
		t.Fatal(err)
	}
	checkPaired(t, m, p, 812)
}

func TestDevicePairsByPhoneCode(t *testing.T) {
	srv := serve(t)
	p := srv.AddPhone(anna, "Anna")
	m := srv.NewClient(t)
	if err := m.PairCode(soon(t), p); err != nil {
		t.Fatal(err)
	}
	checkPaired(t, m, p, 50)
}

func checkPaired(t *testing.T, m *whatsapptest.Member, p *whatsapptest.Phone, keys int) {
	t.Helper()
	devices := p.Devices()
	if len(devices) != 1 || !devices[0].Online || devices[0].Name != "whatsmeow" || devices[0].PreKeys != keys {
		t.Fatalf("phone lists %+v", devices)
	}
	if got := m.Client.Store.GetJID(); got != devices[0].JID || m.Client.Store.GetLID() != devices[0].LID {
		t.Errorf("client is %s, phone lists %s", got, devices[0].JID)
	}
	if err := m.Reconnect(soon(t)); err != nil {
		t.Errorf("log in again: %v", err)
	}
}

func TestWrongPhoneCodeIsRefused(t *testing.T) {
	srv := serve(t)
	p := srv.AddPhone(anna, "Anna")
	m := srv.NewClient(t)
	if err := m.Client.Connect(); err != nil {
		t.Fatal(err)
	}
	must(whatsapptest.Await[*events.QR](soon(t), m, 0, nil))(t)
	if _, err := p.EnterCode(soon(t), "AAAA-AAAA"); err == nil {
		t.Error("a code that no device asked for was taken")
	}
	if _, err := m.Client.PairPhone(soon(t), anna, true, whatsmeow.PairClientChrome, "Longshore"); err == nil {
		t.Error("a display name that is no browser was taken")
	}
	code := must(m.Client.PairPhone(soon(t), anna, true, whatsmeow.PairClientChrome, "Chrome (Linux)"))(t)
	wrong := "AAAAAAAA"
	if strings.HasPrefix(code, "AAAA") {
		wrong = "BBBBBBBB"
	}
	if _, err := p.EnterCode(soon(t), wrong); err == nil || !strings.Contains(err.Error(), "the code is wrong") {
		t.Errorf("wrong code: %v", err)
	}
	if len(p.Devices()) != 0 {
		t.Error("a device was linked")
	}
}

func TestForeignQRCodesAreRefused(t *testing.T) {
	srv := serve(t)
	p := srv.AddPhone(anna, "Anna")
	m := srv.NewClient(t)
	if err := m.Client.Connect(); err != nil {
		t.Fatal(err)
	}
	codes := must(whatsapptest.Await[*events.QR](soon(t), m, 0, nil))(t).Codes
	if len(codes) != 6 {
		t.Errorf("%d codes, want 6", len(codes))
	}
	parts := strings.Split(codes[0], ",")
	for what, qr := range map[string]string{
		"no code":        "https://example.org",
		"unknown ref":    strings.Join(append([]string{"2@other"}, parts[1:]...), ","),
		"other identity": strings.Join([]string{parts[0], parts[1], parts[1], parts[3]}, ","),
	} {
		if _, err := p.Scan(soon(t), qr); err == nil {
			t.Errorf("%s: paired", what)
		}
	}
	if _, err := p.Scan(soon(t), strings.Join([]string{parts[0], parts[1], parts[2], parts[1]}, ",")); err == nil {
		t.Error("paired with a secret that is not the device's")
	}
	must(whatsapptest.Await[*events.PairError](soon(t), m, 0, nil))(t)
}

func TestPairingAgainMakesASecondDevice(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, false)
	must(a.SendText(soon(t), group, "one"))(t)
	next(t, b)
	second := srv.NewMember(t, boris, "")
	// Wait until the sender has heard of the new device, so that it encrypts for it.
	if err := srv.Await(soon(t), func() bool { return a.Phone.Devices()[0].Pending == 0 }); err != nil {
		t.Fatal(err)
	}
	must(a.SendText(soon(t), group, "two"))(t)
	for _, m := range []*whatsapptest.Member{b, second} {
		if got := whatsapptest.Text(next(t, m).Message); got != "two" {
			t.Errorf("got %q", got)
		}
	}
	// What one device of an account writes, the other sees as its own.
	must(second.SendText(soon(t), a.Phone.JID(), "three"))(t)
	if e := next(t, b); !e.Info.IsFromMe || e.Info.Chat != a.Phone.JID() {
		t.Errorf("echo is from me %t, in %s", e.Info.IsFromMe, e.Info.Chat)
	}
}

func TestLoginsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault whatsapptest.Fault
		heard func(*testing.T, *whatsapptest.Member)
	}{
		"unlinked": {whatsapptest.Fault{Code: 401}, heard[*events.LoggedOut]},
		"outdated": {whatsapptest.Fault{Code: 405}, heard[*events.ClientOutdated]},
		"locked":   {whatsapptest.Fault{Code: 403}, heard[*events.LoggedOut]},
		"banned":   {whatsapptest.Fault{Code: 402, BanCode: 104, Expire: time.Hour}, heard[*events.TemporaryBan]},
		"other":    {whatsapptest.Fault{Code: 409}, heard[*events.ConnectFailure]},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t)
			m := srv.NewMember(t, anna, "Anna")
			m.Disconnect()
			c.fault.On, c.fault.Do, c.fault.Phone = whatsapptest.OnLogin, whatsapptest.Refuse, anna
			srv.Fail(c.fault)
			if err := m.Client.Connect(); err != nil {
				t.Fatal(err)
			}
			c.heard(t, m)
		})
	}
}

func heard[E any](t *testing.T, m *whatsapptest.Member) {
	t.Helper()
	e := must(whatsapptest.Await[E](soon(t), m, 0, nil))(t)
	if ban, ok := any(e).(*events.TemporaryBan); ok && (ban.Code != 104 || ban.Expire != time.Hour) {
		t.Errorf("ban is %+v", ban)
	}
}

func TestOutdatedClientsAreRefusedAndCanAskForTheVersion(t *testing.T) {
	srv := whatsapptest.New(whatsapptest.Options{Revision: 1_999_999_999, RefuseOlder: true})
	t.Cleanup(srv.Close)
	m := srv.NewClient(t)
	if err := m.Client.Connect(); err != nil {
		t.Fatal(err)
	}
	heard[*events.ClientOutdated](t, m)
	latest := must(whatsmeow.GetLatestVersion(soon(t), srv.HTTPClient()))(t)
	if latest[2] != 1_999_999_999 {
		t.Errorf("latest version is %v", latest)
	}
}
