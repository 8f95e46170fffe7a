package doctor_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// running is a host that says how it is and does nothing else.
type running struct{ operator.Control }

func (running) Status(context.Context) (operator.Status, error) {
	return operator.Status{Running: true, PID: 7, State: "/state"}, nil
}

func (running) Findings(_ context.Context, deep bool) ([]finding.Finding, error) {
	return []finding.Finding{{Name: finding.Accepting, Part: "outbox", Severity: finding.Fault, Cause: fmt.Sprint("12 B of disk are free, asked: ", deep), Remedy: "make room"}}, nil
}

func healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"ok":true}`)
	})
}

// serve runs a host's control server until the test ends.
func serve(t *testing.T, s *operator.Server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	for {
		if _, err := operator.NewClient(s.Dir).Status(ctx); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// Two accounts of one platform said the same of the machine, each once.
func TestWhatTwoChannelsFindIsSaidOnce(t *testing.T) {
	p := newPatient(t)
	for range 2 {
		p.Channels = map[string]doctor.Check{"channel web": func(context.Context, bool) []finding.Finding {
			return []finding.Finding{finding.Well("media tools", "all run confined")}
		}}
	}
	n := 0
	for _, f := range p.ask(t.Context()) {
		if f.Part == "media tools" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("said %d times", n)
	}
}
