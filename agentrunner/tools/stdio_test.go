package tools_test

import (
	"bufio"
	"context"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
)

// stuck is the stdout of a program whose client does not read.
type stuck struct{ begun, closed chan struct{} }

func (s stuck) Write([]byte) (int, error) {
	s.begun <- struct{}{}
	<-s.closed
	return 0, io.ErrClosedPipe
}

// TestAClientThatReadsNothingKeepsNoProgram: a signal ends it, whatever is still to be
// written, and nothing is written after that.
func TestAClientThatReadsNothingKeepsNoProgram(t *testing.T) {
	in, calls := io.Pipe()
	out := stuck{make(chan struct{}, 9), make(chan struct{})}
	defer close(out.closed)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- tools.ServeStdio(ctx, tools.Server(sender.New(sender.Config{}), "1"), in, out, nil) }()
	for range 3 {
		if _, err := io.WriteString(calls, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-out.begun
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	calls.Close()
	if len(out.begun) > 0 {
		t.Error("it writes on")
	}
}

// TestACancelledCallIsNotAnswered, as MCP asks for, and the program still ends with its stdin.
func TestACancelledCallIsNotAnswered(t *testing.T) {
	h := fakehost.New(t, nil)
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	s := sender.New(sender.Config{IPC: h.IPC, Chat: "web:family", Folder: "family", Wait: 2 * time.Minute})
	ended := make(chan error, 1)
	go func() {
		err := tools.ServeStdio(t.Context(), tools.Server(s, "1"), in, out, nil)
		out.Close()
		ended <- err
	}()
	got := make(chan []string)
	go func() {
		var all []string
		for lines := bufio.NewScanner(answers); lines.Scan(); {
			all = append(all, lines.Text())
		}
		got <- all
	}()
	say := func(line string) {
		if _, err := io.WriteString(calls, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	say(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"send_message","arguments":{"text":"a"}}}`)
	h.Next()
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`) // of no call yet
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`)
	say(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	calls.Close()
	if diff := cmp.Diff([]string{`{"jsonrpc":"2.0","id":8,"result":{}}`}, <-got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left := h.Pending(); len(left) > 0 {
		t.Errorf("in the queue: %q", left)
	}
}
