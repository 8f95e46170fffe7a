//go:build e2e

package whatsapptest_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/baileys"
)

func TestBaileysPairsByQRCodeAndByPhoneCode(t *testing.T) {
	srv := serve(t)
	a := srv.NewMember(t, anna, "Anna")
	for name, pair := range map[string]bool{boris: true, clara: false} {
		p := srv.AddPhone(name, "")
		b := baileys.New(t, srv)
		how := b.PairCode
		if pair {
			how = b.PairQR
		}
		if err := how(soon(t), p); err != nil {
			t.Fatal(err)
		}
		id := must(a.SendText(soon(t), p.JID(), "hello"))(t)
		if e := must(b.Message(soon(t), id))(t); e.Text != "hello" {
			t.Errorf("Baileys got %+v", e)
		}
	}
}
