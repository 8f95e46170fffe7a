package push_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
)

// Sends do not need the address at which replies are taken.
func TestAnAddressThatIsTakenStopsTheRepliesAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	w := newWorld(t)
	w.setup.Settings.(*push.Settings).Listen = l.Addr().String()
	w.made(t).run(t)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(30 * time.Second); ; <-tick.C {
		var held *channel.Error
		if err := w.ch.(*push.Push).Link.Held(); errors.As(err, &held) && held.Code == "push_stopped" && held.Hint != "" {
			break
		} else if time.Now().After(late) {
			t.Fatalf("it is not said: %v", err)
		}
	}
	if ok, detail := w.ch.(channel.Status).Connected(); ok || !strings.Contains(detail, "replies cannot be taken") {
		t.Errorf("%t, %q", ok, detail)
	}
	if _, err := w.ch.Send(t.Context(), text("hello")); err != nil {
		t.Error(err)
	}
}
