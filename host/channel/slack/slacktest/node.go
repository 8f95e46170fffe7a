package slacktest

import (
	"bufio"
	"embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/npmtest"
)

// The programs, and the exact versions of all that they are made of.
//
//go:embed testdata
var programs embed.FS

// node is a program in Node that reads and writes lines of JSON. It ends with the
// test.
type node struct {
	lines chan json.RawMessage
	stdin io.Writer
}

// startNode runs a program of testdata with the directory of its modules and more.
func startNode(t testing.TB, dir, program string, args ...string) *node {
	t.Helper()
	modules := npmtest.Modules(t, programs, "testdata/"+dir)
	text, err := programs.ReadFile("testdata/" + dir + "/" + program)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", append([]string{script, modules}, args...)...)
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
	n := &node{lines: make(chan json.RawMessage, 1000), stdin: stdin}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(n.lines)
		for in := bufio.NewReader(stdout); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			n.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-read
		_ = cmd.Wait()
	})
	return n
}

// Types is the directory of npm's @slack/types, Slack's own account of what it sends: its
// dist has the declarations. The test is skipped without npm.
func Types(t testing.TB) string {
	t.Helper()
	return filepath.Join(npmtest.Modules(t, programs, "testdata/slack-node"), "@slack", "types")
}

func (n *node) say(t testing.TB, line any) {
	t.Helper()
	if err := json.NewEncoder(n.stdin).Encode(line); err != nil {
		t.Fatal(err)
	}
}

// next reads the next line into an answer.
func (n *node) next(t testing.TB, answer any) {
	t.Helper()
	select {
	case line, ok := <-n.lines:
		if !ok {
			t.Fatal("the program in Node has ended")
		}
		if err := json.Unmarshal(line, answer); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the program in Node says nothing")
	}
}
