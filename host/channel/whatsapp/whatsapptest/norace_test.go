//go:build !race

package whatsapptest_test

import (
	"testing"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest"
)

// With a message under way, whatsmeow asks a stream that has just ended with
// an error whether it is connected, without the lock under which it closes.
// The race detector rightly complains, so it is not on here.
func TestStreamErrorWithAMessageUnderWay(t *testing.T) {
	t.Parallel()
	mishap{whatsapptest.Fault{Do: whatsapptest.StreamError, Code: 503}, nil, 1, 1}.happens(t)
}

// whatsmeow's reader closes the socket that was replaced while Disconnect lets
// go of it, and the two do not share a lock.
func TestEndsWithoutReconnect(t *testing.T) {
	t.Parallel()
	srv := serve(t)
	m := srv.NewMember(t, anna, "Anna")
	m.Phone.Replace()
	heard[*events.StreamReplaced](t, m)
	if err := srv.Await(soon(t), func() bool { return !m.Phone.Online() }); err != nil {
		t.Fatal(err)
	}
	if err := m.Reconnect(soon(t)); err != nil {
		t.Fatal(err)
	}
	m.Phone.Unlink()
	heard[*events.LoggedOut](t, m)
	if m.Client.Store.ID != nil && len(m.Phone.Devices()) != 0 {
		t.Error("device is still linked")
	}
}
