package whatsapptest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"go.mau.fi/whatsmeow"
	waBinary "go.mau.fi/whatsmeow/binary"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// These tests hold what WhatsApp does and whatsmeow never asks of it. Other
// clients do.

func TestGroupMessageWithoutParticipantsReachesTheGroup(t *testing.T) {
	srv := serve(t)
	a, b, group := chat(t, srv, true)
	err := a.Client.DangerousInternals().SendNode(soon(t), waBinary.Node{
		Tag: "message", Attrs: waBinary.Attrs{"to": group, "id": "3EB0AA", "type": "text"},
		Content: []waBinary.Node{{Tag: "enc", Attrs: waBinary.Attrs{"v": "2", "type": "skmsg"}, Content: []byte("under a key that Boris lacks")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := must(whatsapptest.Await[*events.UndecryptableMessage](soon(t), b, 0, nil))(t)
	if e.Info.ID != "3EB0AA" || e.Info.Chat != group {
		t.Errorf("Boris got %s in %s", e.Info.ID, e.Info.Chat)
	}
	if got := srv.Relayed(group); len(got) != 1 || got[0].Times != 1 || got[0].Retries != 0 {
		t.Errorf("relayed %+v, want one message and no retry", got)
	}
}

func TestUploadTokenMayLackItsPadding(t *testing.T) {
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	conn := must(m.Client.DangerousInternals().RefreshMediaConn(soon(t), false))(t)
	hash := sha256.Sum256([]byte("ciphertext"))
	for name, encoding := range map[string]*base64.Encoding{"padded": base64.URLEncoding, "unpadded": base64.RawURLEncoding} {
		url := srv.URL() + "/mms/document/" + encoding.EncodeToString(hash[:]) + "?auth=" + conn.Auth
		resp, err := srv.HTTPClient().Post(url, "application/octet-stream", strings.NewReader("ciphertext"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s token: %s", name, resp.Status)
		}
	}
}

func TestPhoneScansTheQRCodeOfFiveParts(t *testing.T) {
	srv := serve(t)
	p := srv.AddPhone(anna, "Anna")
	m := srv.NewClient(t)
	if err := m.Client.Connect(); err != nil {
		t.Fatal(err)
	}
	code := must(whatsapptest.Await[*events.QR](soon(t), m, 0, nil))(t).Codes[0]
	if _, err := p.Scan(soon(t), "https://wa.me/settings/linked_devices#"+code+",1"); err != nil {
		t.Fatal(err)
	}
	must(whatsapptest.Await[*events.Connected](soon(t), m, 0, nil))(t)
	m.Phone = p // settles before it disconnects
}

func TestDigestDescribesTheKeysOfTheDevice(t *testing.T) {
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	resp := must(m.Client.DangerousInternals().SendIQ(soon(t), whatsmeow.DangerousInfoQuery{
		Namespace: "encrypt", Type: "get", To: types.ServerJID, Content: []waBinary.Node{{Tag: "digest"}},
	}))(t)
	digest := resp.GetChildByTag("digest")
	identity, list, hash := digest.GetChildByTag("identity"), digest.GetChildByTag("list"), digest.GetChildByTag("hash")
	if got, _ := identity.Content.([]byte); !bytes.Equal(got, m.Client.Store.IdentityKey.Pub[:]) {
		t.Errorf("identity is %x", got)
	}
	if got := len(list.GetChildren()); got != m.Phone.Devices()[0].PreKeys {
		t.Errorf("%d ids of one-time keys, the server has %d", got, m.Phone.Devices()[0].PreKeys)
	}
	if got, _ := hash.Content.([]byte); len(got) != 20 {
		t.Errorf("hash is %x", got)
	}
}
