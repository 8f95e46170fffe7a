//go:build e2e

package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/ipc"
)

const exampleDir = "../../agentrunner/example"

// buildExample builds the example as the module of its own that it is.
func buildExample(t *testing.T) (program string) {
	t.Helper()
	tool := func(args ...string) []byte {
		cmd := exec.Command("go", args...)
		cmd.Dir = exampleDir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %s: %v\n%s(if go.mod has changed at the root: go mod tidy in agentrunner/example)", strings.Join(args, " "), err, said.Bytes())
		}
		return out
	}
	var module struct {
		Module  struct{ Path string }
		Replace []struct{ New struct{ Path string } }
	}
	if err := json.Unmarshal(tool("mod", "edit", "-json"), &module); err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/longshore-bridge/longshore"
	if strings.HasPrefix(module.Module.Path, ours) || len(module.Replace) != 1 || module.Replace[0].New.Path != "../.." {
		t.Fatalf("%+v: a module below our path could use internal packages, as no other program can", module)
	}
	program = filepath.Join(t.TempDir(), "example")
	tool("build", "-o", program, ".")
	tool("vet", ".")
	return program
}

// TestExampleOfEmbeddedToolsAnswersOnce: a Go program with exported types alone, built as a
// module of its own, fetches a message with a file, and answers with a file made of both. It
// is killed before it has ended the message, gets it again, and the file is in the chat once.
func TestExampleOfEmbeddedToolsAnswersOnce(t *testing.T) {
	r := newElsewhere(t)
	program, token := buildExample(t), r.token("desk", "")
	host, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	acked, dir := make(chan struct{}, 1), filepath.Join(r.dir, "far away")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(host) }}
	line := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if !strings.HasSuffix(req.URL.Path, "/ack") {
			forward.ServeHTTP(rw, req)
			return
		}
		select {
		case acked <- struct{}{}:
		default:
		}
		panic(http.ErrAbortHandler)
	}))
	defer line.Close()
	start := func(to string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "LONGSHORE_URL="+to, "LONGSHORE_TOKEN="+token, "HOME="+r.dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	reply := pushtest.Reply{Type: "message", Chat: "push:desk", ID: "m", From: "Ann", Text: "three little words", Direct: true,
		Files: []pushtest.ReplyFile{{URL: r.receiver.Keep("rope.txt", []byte("rope and tar and rope")), Name: "rope.txt", MIME: "text/plain"}}}
	stage.Eventually(t, "the host takes a message", func() bool { return r.receiver.Post(t.Context(), "http://"+r.listen+"/", reply) == nil })

	first := start(line.URL)
	select {
	case <-acked:
	case <-time.After(stage.Patience):
		t.Fatal("the message was not answered")
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	start(r.url)
	stage.Eventually(t, "the message is ended", func() bool {
		var in ipc.Inbox
		r.get("GET", "/api/inbox", token, nil, &in)
		return in.Waiting == 0
	})
	want := fmt.Sprintf("%x", sha256.Sum256([]byte("what,words\nmessage,3\nrope.txt,5\n")))
	shown := r.receiver.Shown(t, "push:desk", 1)
	if len(shown) != 1 || len(shown[0].Files) != 1 || shown[0].Files[0].SHA256 != want || shown[0].Files[0].Name != "words.csv" {
		t.Errorf("in the chat: %+v", shown)
	}
}
