package web_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// childEnv has a directory and an address: the process is then a host that serves the
// page there until it is killed.
const childEnv = "LONGSHORE_TEST_PAGE"

func TestMain(m *testing.M) {
	if dir, listen, ok := strings.Cut(os.Getenv(childEnv), "|"); ok {
		serveUntilKilled(dir, listen)
	}
	if what := os.Getenv(readersEnv); what != "" {
		readUntilKilled(what)
	}
	fstest.Memory()
	goleak.VerifyTestMain(m)
}

func serveUntilKilled(dir, listen string) {
	o := options(dir)
	o.Listen = listen
	var w *web.Web
	var err error
	if o.State, err = state.Open(context.Background(), statetest.Spec(dir), slog.New(slog.DiscardHandler)); err == nil {
		w, err = opened(o)
	}
	if err == nil {
		fmt.Println(w.URL())
		in := newInbox()
		in.fetch = w.Fetch
		err = w.Run(context.Background(), in)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
