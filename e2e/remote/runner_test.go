package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// narrow is a line to a host that breaks after so many bytes of each connection, and lets
// the test see each break.
type narrow struct {
	net.Listener
	broken chan struct{}

	mu   sync.Mutex
	most []int64 // bytes towards the host of the next connections; -1: all
}

func newNarrow(t *testing.T, to string, most ...int64) *narrow {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &narrow{Listener: l, broken: make(chan struct{}, 100), most: most}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var carried sync.WaitGroup
		defer carried.Wait()
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			carried.Go(func() { n.carry(near, to) })
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return n
}

// next is how many bytes a request may have: only a PUT is cut.
func (n *narrow) next(head []byte) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !bytes.HasPrefix(head, []byte("PUT")) || len(n.most) == 0 {
		return -1
	}
	most := n.most[0]
	n.most = n.most[1:]
	return most
}

func (n *narrow) carry(near net.Conn, to string) {
	defer near.Close()
	far, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(near, head); err != nil {
		return
	}
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(near, far)
		near.Close()
	}()
	most := n.next(head)
	if most < 0 {
		_, _ = far.Write(head)
		_, _ = io.Copy(far, near)
	} else {
		_, _ = io.Copy(far, io.LimitReader(io.MultiReader(bytes.NewReader(head), near), most))
		n.broken <- struct{}{}
	}
	far.Close()
	<-back
}

// TestAgentrunnerUploadsOverALineThatBreaks: at chosen places, and once while agentrunner is
// killed and once while the host is. The file is in the chat byte for byte, and once.
func TestAgentrunnerUploadsOverALineThatBreaks(t *testing.T) {
	r := newElsewhere(t)
	a := newRunner(r)
	content := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	line := newNarrow(t, strings.TrimPrefix(r.url, "http://"), 0, 1, 500, 100_000, 1<<19)
	cmd := a.run("send", "--json", "--wait", "60s", "ship.txt")
	cmd.Env = append(cmd.Env, "LONGSHORE_URL=http://"+line.Addr().String())
	if err := os.WriteFile(filepath.Join(cmd.Dir, "ship.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	var told sender.Report
	if json.Unmarshal(out, &told) != nil || told.Status != string(ipc.Sent) {
		t.Fatalf("%v: %s", err, out)
	}
	if shown := r.receiver.Shown(t, "push:desk", 1)[0]; len(shown.Files) != 1 || shown.Files[0].SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(content))) || shown.Files[0].Name != "ship.txt" {
		t.Errorf("in the chat: %+v", shown)
	}
	if len(line.broken) != 5 {
		t.Errorf("the line broke %d times", len(line.broken))
	}
}

// TestAgentrunnerSaysWhyItCannotReachTheHost, with a remedy, and sends nothing.
func TestAgentrunnerSaysWhyItCannotReachTheHost(t *testing.T) {
	r := newElsewhere(t)
	a := newRunner(r)
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for name, tt := range map[string]struct {
		env, code, hint string
		status          int
	}{
		"a wrong token": {"LONGSHORE_TOKEN=" + a.secret + "x", "no_token", "longshore tokens new", 1},
		"not a door":    {"LONGSHORE_URL=" + other.URL, "not_longshore", "remote.listen", 1},
		"no token":      {"LONGSHORE_TOKEN=", "", "longshore tokens new", 1},
		"https":         {"LONGSHORE_URL=https://" + r.listen, "", "ssh -N -L", 1},
	} {
		cmd := a.run("message", "--json", "hello")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.Env = append(cmd.Env, tt.env)
		err := cmd.Run()
		var told sender.Report
		_ = json.Unmarshal(stdout.Bytes(), &told)
		if err == nil || cmd.ProcessState.ExitCode() != tt.status || told.Code != tt.code || !strings.Contains(stderr.String(), tt.hint) {
			t.Errorf("%s: %v, %+v, %s", name, err, told, stderr.String())
		}
		if strings.Contains(stderr.String()+stdout.String(), a.secret) {
			t.Errorf("%s: the token is shown", name)
		}
	}
	health := a.run("health")
	health.Env, health.Stderr = append(health.Env, "LONGSHORE_TOKEN="+a.secret+"x"), nil
	if out, err := health.Output(); err == nil || !strings.Contains(string(out), "Not working: this needs a token that counts") {
		t.Errorf("health: %v, %s", err, out)
	}
	if out, err := a.run("health").Output(); err != nil || !strings.Contains(string(out), "Working: this group's chat is push:desk") {
		t.Errorf("health: %v, %s", err, out)
	}
	if n := len(r.receiver.Shown(t, "push:desk", 0)); n > 0 {
		t.Errorf("%d messages are in the chat", n)
	}
}

// TestTheHomeAsAWorkingDirectoryIsNotGivenAsTheRemedy: people log in there, and a copy to the
// working directory would be refused again.
func TestTheHomeAsAWorkingDirectoryIsNotGivenAsTheRemedy(t *testing.T) {
	a := newRunner(newElsewhere(t))
	cmd := a.run("send", "--json", "report.txt")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Env, "HOME="+cmd.Dir, "TMPDIR=") // where files may be sent from, too
	if err := os.WriteFile(filepath.Join(cmd.Dir, "report.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	var told sender.Report
	_ = json.Unmarshal(out, &told)
	if err == nil || told.Code != "not_mounted" || strings.Contains(stderr.String(), "to the working directory") || !strings.Contains(stderr.String(), "to another directory, start there") {
		t.Errorf("%v, %+v, %s", err, told, stderr.String())
	}
}
