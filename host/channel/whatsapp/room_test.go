package whatsapp_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
)

// fullDisk is a Host without room.
type fullDisk struct {
	channel.NoHost
	full atomic.Bool
}

func (h *fullDisk) Room() error {
	if h.full.Load() {
		return errors.New("only 3 MiB of disk are free")
	}
	return nil
}

// What has no room here stays with WhatsApp, and comes as soon as there is room.
func TestAMessageThatHasNoRoomComesLater(t *testing.T) {
	host := &fullDisk{}
	host.full.Store(true)
	w := newWorld(t, func(o *whatsapp.Options) { o.Host = host })
	w.ch.Watch(50 * time.Millisecond)
	w.run()
	w.says(family, plain("hello"))
	w.until("the message is refused", func() bool { return strings.Contains(w.log.String(), "only 3 MiB of disk are free") })
	host.full.Store(false)
	if got := w.received(1)[0]; got.Text != "hello" {
		t.Errorf("received %q", got.Text)
	}
}
