package tools

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// workers is how many calls are served at once. Each call mostly waits for a chat
// platform.
const workers = 32

// ServeStdio serves one client until stdin ends or ctx is done; neither is an error.
// When stdin ends, calls in progress are still answered. When ctx ends, they are
// not; ctx's cause decides whether their requests are withdrawn, see
// [sender.ErrKeep]. A process may run it only once at a time, because mcp-go's stdio
// session belongs to the process.
func ServeStdio(ctx context.Context, m *server.MCPServer, stdin io.Reader, stdout io.Writer, logger *slog.Logger) error {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	stdio := server.NewStdioServer(m)
	server.WithWorkerPoolSize(workers)(stdio)
	stdio.SetErrorLogger(log.New(logWriter{logger}, "", 0))
	gate := newGate(ctx, stdin, stdout)
	err := stdio.Listen(ctx, gate, gate)
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// logWriter turns mcp-go's reports into log lines.
type logWriter struct{ logger *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.logger.Warn("mcp", "error", string(bytes.TrimSpace(p)))
	return len(p), nil
}

// gate stands between the server and its streams. It delays the end of stdin while
// requests are unanswered. Without it, mcp-go would cancel those requests at once,
// and a client that writes its calls and closes stdin, such as a pipe in a shell,
// would get no reply. It also discards the answer to a call that the client cancelled, which
// mcp-go writes: by MCP, nobody waits for it.
type gate struct {
	ctx context.Context
	in  *bufio.Reader
	out io.Writer

	rest []byte // rest of the line that is being passed on

	mu        sync.Mutex
	open      map[string]int  // unanswered requests by id
	cancelled map[string]bool // those of them that the client cancelled
	change    chan struct{}   // closed and replaced at each answer
}

func newGate(ctx context.Context, in io.Reader, out io.Writer) *gate {
	return &gate{ctx: ctx, in: bufio.NewReader(in), out: out, open: map[string]int{}, cancelled: map[string]bool{}, change: make(chan struct{})}
}

// Read passes on whole lines and notes the requests in them. It reports the end of
// stdin after all of them are answered.
func (g *gate) Read(p []byte) (int, error) {
	if len(g.rest) == 0 {
		line, err := g.in.ReadBytes('\n')
		if len(line) == 0 {
			g.drain()
			return 0, err
		}
		if line[len(line)-1] != '\n' { // the last line, truncated or without a newline
			line = append(line, '\n')
		}
		g.asked(line)
		g.rest = line
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// Write passes on one message; mcp-go writes each message in a single call. When ctx ends,
// Write returns even if the client does not read: otherwise that client would keep the
// program running. The rest of the message is then lost, and nothing is written any more.
func (g *gate) Write(p []byte) (int, error) {
	if err := g.ctx.Err(); err != nil {
		return 0, err
	}
	id, answers := answerTo(p)
	if answers && g.unwanted(id) {
		g.answer(id)
		return len(p), nil
	}
	type result struct {
		n   int
		err error
	}
	written := make(chan result, 1)
	line := bytes.Clone(p) // mcp-go uses p again
	go func() {
		n, err := g.out.Write(line)
		written <- result{n, err}
	}()
	select {
	case r := <-written:
		if answers {
			g.answer(id)
		}
		return r.n, r.err
	case <-g.ctx.Done():
		return 0, g.ctx.Err()
	}
}

// message is what the gate reads of a line.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// keyOf is a request's id as a key: 1 and "1" are two ids, 1 and 1.0 are one.
func keyOf(id any) string { return fmt.Sprintf("%T %v", id, id) }

// asked counts a request, or notes that the client cancels one. Other lines, and broken ones,
// change nothing. Nor does a subscription, which is only answered when it ends.
func (g *gate) asked(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil || m.Method == "" || strings.HasPrefix(m.Method, "subscriptions/") {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.ID != nil {
		g.open[keyOf(m.ID)]++
		return
	}
	var call struct {
		ID any `json:"requestId"`
	}
	if m.Method == "notifications/cancelled" && json.Unmarshal(m.Params, &call) == nil && g.open[keyOf(call.ID)] > 0 {
		g.cancelled[keyOf(call.ID)] = true
	}
}

// answerTo returns the key of the request that a line answers, if it is an answer.
func answerTo(line []byte) (id string, ok bool) {
	var m message
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method != "" {
		return "", false
	}
	return keyOf(m.ID), true
}

// unwanted reports whether the client has cancelled a request.
func (g *gate) unwanted(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cancelled[id]
}

// answer counts a request as answered.
func (g *gate) answer(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[id]--; g.open[id] <= 0 {
		delete(g.open, id)
		delete(g.cancelled, id)
	}
	close(g.change)
	g.change = make(chan struct{})
}

// drain waits until every request is answered. Each call has a time limit, so drain
// ends.
func (g *gate) drain() {
	for {
		g.mu.Lock()
		left, change := len(g.open), g.change
		g.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-change:
		case <-g.ctx.Done():
			return
		}
	}
}
