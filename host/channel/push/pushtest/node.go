package pushtest

import (
	"embed"
	"fmt"
	"testing"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The receiver program, and the exact versions of all that it is made of.
//
//go:embed testdata/standardwebhooks
var standardwebhooks embed.FS

// Node is a receiver in a Node process of its own, which verifies and signs with
// npm's standardwebhooks.
type Node struct {
	URL     string // where messages are posted
	program *npmtest.Program
}

// NodeEvent is a line that it prints; receiver.mjs describes them.
type NodeEvent struct {
	Event, Error string
	Port, Status int
	Message      Message
	Files        []string
}

// NewNode starts one. It ends with the test.
func NewNode(t testing.TB, secret string) *Node {
	t.Helper()
	n := &Node{program: npmtest.Start(t, standardwebhooks, "testdata/standardwebhooks/receiver.mjs", secret, "0")}
	n.URL = fmt.Sprintf("http://127.0.0.1:%d/", n.Next(t).Port)
	return n
}

// Next waits for the next line.
func (n *Node) Next(t testing.TB) (e NodeEvent) {
	t.Helper()
	n.program.Next(t, &e)
	return e
}

// Post has it post a reply.
func (n *Node) Post(t testing.TB, to, id string, r Reply) {
	t.Helper()
	n.program.Say(t, map[string]any{"to": to, "id": id, "reply": r})
}
