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
	go func() { ended <- operator.ServeHealth(ctx, addr, nil, healthy()) }()
	answers(t, func() error {
		resp, err := http.Get("http://" + addr + "/healthz")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("answered %s", resp.Status)
		}
		return nil
	})
	http.DefaultClient.CloseIdleConnections()
	taken := operator.ServeHealth(ctx, addr, nil, healthy())
	if taken == nil || !strings.Contains(taken.Error(), "serve metrics") {
		t.Errorf("a second listener: %v", taken)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A website whose name points at this machine must not read the metrics
// through the operator's browser.
func TestMetricsAnswerToNoForeignName(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- operator.ServeHealth(ctx, addr, []string{"metrics.example.org"}, healthy()) }()
	defer func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ask := func(path, host, site string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		if site != "" {
			req.Header.Set("Sec-Fetch-Site", site)
		}
		return http.DefaultClient.Do(req)
	}
	answers(t, func() error {
		resp, err := ask("/healthz", addr, "")
		if err == nil {
			resp.Body.Close()
		}
		return err
	})
	_, port, _ := net.SplitHostPort(addr)
	for _, c := range []struct {
		host, site string
		status     int
	}{
		{addr, "", http.StatusOK},
		{"localhost:" + port, "none", http.StatusOK},
		{"[::1]:" + port, "same-origin", http.StatusOK},
		{"Metrics.example.org", "", http.StatusOK},
		{"evil.example:" + port, "", http.StatusMisdirectedRequest},
		{"127.0.0.1.evil.example", "", http.StatusMisdirectedRequest},
		{"192.0.2.1:" + port, "", http.StatusMisdirectedRequest},
		{addr, "cross-site", http.StatusForbidden},
		{addr, "same-site", http.StatusForbidden},
	} {
		for _, path := range []string{"/healthz", "/metrics"} {
			resp, err := ask(path, c.host, c.site)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.status || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s as %s for %q: %s", path, c.host, c.site, resp.Status)
			}
		}
	}
}

// answers waits until ask goes well.
func answers(t *testing.T, ask func() error) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(time.Minute); ; {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}
