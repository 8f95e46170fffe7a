package whatsapp_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/store"
)

// Who pressed Pair as the host started was told that another process uses the store.
func TestAPairingWhileTheHostLooksForAnAccountFailed(t *testing.T) {
	dir := t.TempDir()
	ch, err := whatsapp.New(whatsapp.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		lock, err := store.Lock(store.Spec{Name: "whatsapp", Dir: dir, File: "whatsapp.db", Lock: "whatsapp.lock"})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := ch.Chats(t.Context()); done <- err }()
		time.Sleep(time.Second)
		lock.Close()
		if err := <-done; !errors.Is(err, whatsapp.ErrNotPaired) {
			t.Errorf("%v", err)
		}
	})
}
