package tools_test

import (
	"context"
	"io"
	"testing"

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
