package channel_test

import (
	"net"
	"net/url"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

func TestAnAddressIsReachableWhileSomebodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: "https", Host: l.Addr().String()}
	if err := channel.Unreachable(t.Context(), u); err != nil {
		t.Errorf("somebody listens: %v", err)
	}
	l.Close()
	if err := channel.Unreachable(t.Context(), u); err == nil {
		t.Error("nobody listens, and it was said to be reachable")
	}
}
