package pushtest

import (
	"bufio"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The receiver program, and the exact versions of all that it is made of.
//
//go:embed testdata/standardwebhooks
var standardwebhooks embed.FS

// Node is a receiver in a Node process of its own, which verifies and signs with
// npm's standardwebhooks.
type Node struct {
	URL string // where messages are posted

	events chan NodeEvent
	stdin  io.Writer
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
	modules := npmtest.Modules(t, standardwebhooks, "testdata/standardwebhooks")
	program, err := standardwebhooks.ReadFile("testdata/standardwebhooks/receiver.mjs")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "receiver.mjs")
	if err := os.WriteFile(script, program, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", script, filepath.Join(modules, "standardwebhooks"), secret, "0")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &Node{events: make(chan NodeEvent, 100), stdin: stdin}
	read := make(chan struct{})
	go func() {
		defer close(read)
		n.read(stdout)
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-read
		_ = cmd.Wait()
	})
	n.URL = fmt.Sprintf("http://127.0.0.1:%d/", n.Next(t).Port)
	return n
}

func (n *Node) read(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		var e NodeEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			e = NodeEvent{Event: "failed", Error: err.Error()}
		}
		n.events <- e
	}
}

// Next waits for the next line.
func (n *Node) Next(t testing.TB) NodeEvent {
	t.Helper()
	select {
	case e := <-n.events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("the receiver in Node says nothing")
	}
	return NodeEvent{}
}

// Post has it post a reply.
func (n *Node) Post(t testing.TB, to, id string, r Reply) {
	t.Helper()
	line, err := json.Marshal(map[string]any{"to": to, "id": id, "reply": r})
	if err == nil {
		_, err = n.stdin.Write(append(line, '\n'))
	}
	if err != nil {
		t.Fatal(err)
	}
}
