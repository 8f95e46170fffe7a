package whatsapptest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

const (
	anna  = "4915550000001"
	boris = "4915550000002"
	clara = "4915550000003"
)

func TestMain(m *testing.M) {
	if err := whatsapptest.TrustRoot(whatsapptest.Root()); err != nil {
		panic(err)
	}
	// whatsmeow's reader hangs for ever on a frame that arrives while the client
	// disconnects: nobody takes from its channel any more.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.mau.fi/whatsmeow/socket.(*FrameSocket).frameComplete"))
}

func serve(t *testing.T) *whatsapptest.Server {
	t.Helper()
	srv := whatsapptest.New(whatsapptest.Options{FewKeys: true})
	t.Cleanup(srv.Close)
	return srv
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// pair of members, and a group of the two.
func chat(t *testing.T, srv *whatsapptest.Server, lid bool) (a, b *whatsapptest.Member, group types.JID) {
	t.Helper()
	a, b = srv.NewMember(t, anna, "Anna"), srv.NewMember(t, boris, "Boris")
	return a, b, srv.AddGroup(whatsapptest.Group{Subject: "Harbour", Members: []string{anna, boris}, LID: lid})
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func next(t *testing.T, m *whatsapptest.Member) *events.Message {
	t.Helper()
	return must(m.Next(soon(t)))(t)
}

func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func document(data []byte) whatsapptest.File {
	return whatsapptest.File{Name: "report.pdf", MIME: "application/pdf", Caption: "the report", Body: bytes.NewReader(data)}
}
