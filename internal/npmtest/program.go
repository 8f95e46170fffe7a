package npmtest

import (
	"bufio"
	"embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"
)

// Program is a program in Node that reads and writes lines of JSON.
type Program struct {
	lines chan json.RawMessage
	stdin io.Writer
}

// Start runs the program in files, with the packages of the directory in which it lies: see Modules.
// Its arguments are the directory node_modules and args. It ends with the test.
func Start(t testing.TB, files embed.FS, program string, args ...string) *Program {
	t.Helper()
	modules := Modules(t, files, path.Dir(program))
	text, err := files.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), path.Base(program))
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
	p := &Program{lines: make(chan json.RawMessage, 1000), stdin: stdin}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for in := bufio.NewReader(stdout); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			p.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		<-read
		_ = cmd.Wait()
	})
	return p
}

// Say writes a line.
func (p *Program) Say(t testing.TB, line any) {
	t.Helper()
	if err := json.NewEncoder(p.stdin).Encode(line); err != nil {
		t.Fatal(err)
	}
}

// Next reads the next line into an answer.
func (p *Program) Next(t testing.TB, answer any) {
	t.Helper()
	select {
	case line, ok := <-p.lines:
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
