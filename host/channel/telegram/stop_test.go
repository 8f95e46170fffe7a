package telegram_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/setting"
)

// runAlone runs the channel until the test ends, whether it connects or not.
func (w *world) runAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.ch.Run(ctx, make(inbox, 1)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// The address of the webhook belongs to another program.
func TestAWebhookWhoseAddressIsTakenHoldsTheChannel(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := newWorld(t)
	set := w.setup.Settings.(*telegram.Settings)
	set.Webhook, set.Listen = "https://bot.example/telegram", l.Addr().String()
	w.made(t).runAlone(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "updates cannot be taken") })
	_, err = w.ch.Send(t.Context(), text("hello"))
	wantError(t, err, channel.Held, "telegram_stopped")
}

func TestWithoutATokenSendsAreHeld(t *testing.T) {
	w := newWorld(t)
	w.setup.Settings.(*telegram.Settings).Token = setting.Secret{}
	w.made(t).runAlone(t)
	w.status(t, func(ok bool, detail string) bool { return !ok && strings.Contains(detail, "no token") })
	_, err := w.ch.Send(t.Context(), text("hello"))
	wantError(t, err, channel.Held, "telegram_not_paired")
}
