package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// healthy is a Health that has nothing to complain about.
func healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
}

// serveHealth serves a healthy host at addr.
func serveHealth(ctx context.Context, addr string, hosts ...string) error {
	s := operator.HealthServer{Address: addr, Hosts: hosts, Health: healthy()}
	l, err := s.Listen()
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
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
	go func() { ended <- serveHealth(ctx, addr) }()
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
	taken := serveHealth(ctx, addr)
	if taken == nil {
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
	go func() { ended <- serveHealth(ctx, addr, "metrics.example.org") }()
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

// TestMetricsShowWhatCallsOfTheModelUsed, and how much of the budget is left.
func TestMetricsShowWhatCallsOfTheModelUsed(t *testing.T) {
	r := &rooms{groups: []groups.Group{{Folder: "family", Assistant: "a"}, {Folder: "inside", Assistant: "b"}}, spending: map[string]operator.Spending{
		"family": {Calls: 2, Input: 3, Cached: 4, Written: 5, Output: 6, USD: 0.5, Budget: "20 tokens a day", Left: 0.1},
	}}
	local := operator.NewLocal(r.options(groups.Layout{State: t.TempDir()}))
	rec := httptest.NewRecorder()
	local.Health().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`longshore_model_calls_total{group="family"} 2`, `longshore_model_tokens_total{group="family",kind="input"} 3`, `longshore_model_tokens_total{group="family",kind="cached"} 4`,
		`longshore_model_tokens_total{group="family",kind="written"} 5`, `longshore_model_tokens_total{group="family",kind="output"} 6`,
		`longshore_model_cost_usd_total{group="family"} 0.5`, `longshore_budget_left_ratio{group="family"} 0.1`,
	} {
		if !strings.Contains(rec.Body.String(), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(rec.Body.String(), `model_calls_total{group="inside"}`) {
		t.Error("there are figures of calls that the host does not see")
	}
}

// TestAnswersToApprovalsWereNotCounted: the metrics had how many wait, and not what became
// of those that no longer do.
func TestAnswersToApprovalsWereNotCounted(t *testing.T) {
	c := newCounter(t)
	ask := func(key string, expires time.Time) string {
		d := records.Delivery{
			Key: key, Folder: "family", Request: "r-" + key, Channel: "mem", Chat: "mem:family", Parts: []records.Part{{Text: "words"}},
			Approval: &records.Ask{Rule: "approve.foreign", Expires: expires},
		}
		if err := c.outbox.Put(t.Context(), []records.Delivery{d}); err != nil {
			t.Fatal(err)
		}
		return key
	}
	later := time.Now().Add(time.Hour)
	ask(strings.Repeat("a", 32), later)
	for key, yes := range map[string]bool{strings.Repeat("b", 32): true, strings.Repeat("c", 32): false, strings.Repeat("d", 32): false} {
		if err := c.decide(t.Context(), ask(key, later), yes); err != nil {
			t.Fatal(err)
		}
		if err := c.decide(t.Context(), key, yes); !errors.Is(err, records.ErrDecided) {
			t.Errorf("a second answer: %v", err)
		}
	}
	late, err := c.outbox.Approval(t.Context(), ask(strings.Repeat("e", 32), time.Now()))
	if err == nil {
		err = c.outbox.Answer(t.Context(), late, records.AnswerNone, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	c.Health().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`waiting 1`, `total{answer="yes"} 1`, `total{answer="no"} 2`, `total{answer="none"} 1`, `total{answer="lost"} 0`} {
		if !strings.Contains(rec.Body.String(), "\nlongshore_approvals_"+want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// TestAFaultOfTheHostIsItsOwnCode: whoever asks knows it from a mistake of their own.
func TestAFaultOfTheHostIsItsOwnCode(t *testing.T) {
	c := &control{err: errors.New("disk on fire")}
	w := httptest.NewRecorder()
	(&operator.Server{Control: c, Log: slog.New(slog.DiscardHandler)}).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/drop", strings.NewReader(`"x"`)))
	var answer struct{ Error refusal.Error }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusInternalServerError || answer.Error.Code != "internal" || answer.Error.Message != "disk on fire" {
		t.Errorf("%d %s, %v", w.Code, w.Body, err)
	}
}

// What members sent and the channel could only tell in words is in the status and the metrics.
func TestWhatIsOnlyToldInWordsIsInStatusAndMetrics(t *testing.T) {
	want := turns.Told{Channel: "tg", Kind: "dice", Count: 3}
	d := operator.NewLocal((&rooms{told: []turns.Told{want}}).options(groups.Layout{State: t.TempDir()}))
	s, err := d.Status(t.Context())
	if err != nil || len(s.Told) != 1 || s.Told[0] != want {
		t.Errorf("status has %+v, %v", s.Told, err)
	}
	rec := httptest.NewRecorder()
	d.Health().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if line := `longshore_told_in_words_total{channel="tg",kind="dice"} 3`; !strings.Contains(rec.Body.String(), line) {
		t.Errorf("the metrics lack %s:\n%s", line, rec.Body)
	}
}
