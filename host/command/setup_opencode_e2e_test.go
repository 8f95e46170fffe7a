//go:build e2e

package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
)

// TestSetupWithOpencodeEndsWithItsFile, with the real CLI and a model on loopback.
func TestSetupWithOpencodeEndsWithItsFile(t *testing.T) {
	opencode := modeltest.Install(t, "opencode")
	dir := t.TempDir()
	hello := filepath.Join(dir, "state", "groups", "family", "hello.txt")
	model := modeltest.New(t, func(r modeltest.Request) modeltest.Answer {
		switch len(r.Results) {
		case 0:
			return modeltest.Answer{Call: "edit", Args: map[string]any{"filePath": hello, "oldString": "", "newString": "God morron\n"}}
		case 1:
			return modeltest.Answer{Call: "longshore_send_file", Args: map[string]any{"file_path": "hello.txt"}}
		}
		return modeltest.Answer{Text: "it is sent"}
	})
	behind, err := url.Parse(model.URL)
	if err != nil {
		t.Fatal(err)
	}
	service := http.NewServeMux() // a server that lists its models, and describes none
	service.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data": [{"id": "one"}]}`) })
	service.Handle("/", httputil.NewSingleHostReverseProxy(behind))
	server := httptest.NewServer(service)
	defer server.Close()
	listen := stage.FreeAddress(t)
	stage.Write(t, filepath.Join(dir, "key"), "test-key")
	t.Setenv("PATH", filepath.Dir(opencode)+string(os.PathListSeparator)+os.Getenv("PATH"))
	s := setUp(t, dir, "--group", "Family", "--listen", listen, "--agent", "opencode", "--model", "one", "--key-file", filepath.Join(dir, "key"), "--base-url", server.URL+"/v1")
	if !strings.Contains(s.said, "the chat has hello.txt") {
		t.Errorf("setup said\n%s\n%s", s.said, s.log)
	}
	s.end(t)
}
