package operator_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
)

// healthy is a Health that has nothing to complain about.
func healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
}

func TestHealthIsServedUntilTheHostEnds(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- operator.ServeHealth(ctx, addr, healthy()) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Second); ; {
		resp, err := http.Get("http://" + addr + "/healthz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("answered %s", resp.Status)
			}
			break
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	taken := operator.ServeHealth(ctx, addr, healthy())
	if taken == nil || !strings.Contains(taken.Error(), "serve metrics") {
		t.Errorf("a second listener: %v", taken)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
