package command

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox"
)

// TestSendPromisedWhatItDidNotKeep: the hint of a full disk is for the queue, which keeps a request.
func TestSendPromisedWhatItDidNotKeep(t *testing.T) {
	for _, code := range []string{"disk_full", "over_quota"} {
		err := refusedSend(&outbox.FullError{Code: code, Message: "full", Hint: "it is taken by itself"})
		if got := err.(*terminal.Error); got.Code != terminal.ExitRefused || !strings.HasPrefix(got.Hint, "nothing was kept") {
			t.Errorf("%s: %+v", code, got)
		}
	}
}

// serving is a host that serves a group, whatever the file says.
type serving struct{ operator.Control }

func (serving) Status(context.Context) (operator.Status, error) {
	return operator.Status{Running: true, Groups: []operator.Group{{Folder: "family", Name: "Family", Chat: "web:family"}}}, nil
}

func (serving) Send(_ context.Context, s operator.Send) (operator.Item, error) {
	return operator.Item{ID: "018f7a5e-aaaa", Chat: "web:" + s.Group}, nil
}

// TestWhyDidNotKnowAGroupThatTheFileHasLost, though the host served it.
func TestWhyDidNotKnowAGroupThatTheFileHasLost(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "longshore.yaml")
	if err := os.WriteFile(file, []byte("channels: {web: {listen: \"127.0.0.1:0\"}}\ngroups: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &env{Terminal: terminal.Terminal{Config: file}, platforms: stage.AllPlatforms(), getenv: func(string) string { return "" }}
	c, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	at := operator.ControlDir(c.Layout())
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- (&operator.Server{Dir: at, Control: serving{}}).Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for client := operator.NewClient(at); ; {
		if _, err := client.Status(ctx); err == nil {
			break
		}
	}
	var out bytes.Buffer
	if code := Run(ctx, "", stage.AllPlatforms(), []string{"-c", file, "send", file, "--group", "family"}, nil, &out, &out); code != terminal.ExitOK {
		t.Errorf("send: %d, it says:\n%s", code, out.String())
	}
	code := Run(ctx, "", stage.AllPlatforms(), []string{"-c", file, "why", "family"}, nil, &out, &out)
	if code != terminal.ExitFailed || !strings.Contains(out.String(), "still serves group family") || strings.Contains(out.String(), "name one of \n") {
		t.Errorf("%d, it says:\n%s", code, out.String())
	}
}

// TestSendSaidNothingOfAHostThatEndedBeforeItsAnswer but "EOF", whether the file was accepted or not.
func TestSendSaidNothingOfAHostThatEndedBeforeItsAnswer(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "longshore.yaml")
	if err := os.WriteFile(file, []byte("channels: {web: {listen: \"127.0.0.1:0\"}}\ngroups: [{folder: quay, chat: \"web:quay\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &env{Terminal: terminal.Terminal{Config: file}, platforms: stage.AllPlatforms(), getenv: func(string) string { return "" }}
	c, err := e.load()
	if err != nil {
		t.Fatal(err)
	}
	at := operator.ControlDir(c.Layout())
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(at, operator.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	dying := http.NewServeMux()
	dying.HandleFunc("/v1/send", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	dying.HandleFunc("/v1/retry", func(w http.ResponseWriter, _ *http.Request) { // within its answer
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("{"))
		panic(http.ErrAbortHandler)
	})
	dying.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Handler: dying}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	for _, args := range [][]string{{"send", file, "--group", "quay"}, {"errors", "retry", "018f7a5e-aaaa"}} {
		var out bytes.Buffer
		Run(t.Context(), "", stage.AllPlatforms(), append([]string{"-c", file}, args...), nil, &out, &out)
		if !strings.Contains(out.String(), "whether it did this is not known") || !strings.Contains(out.String(), "queue list --all, on the host that owns") || strings.Contains(out.String(), "EOF") {
			t.Errorf("%v says: %s", args, out.String())
		}
	}
}

// TestAFrozenHostHeldReloadForEver: what asks a host begins by asking whether it answers.
func TestAFrozenHostHeldReloadForEver(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "longshore.yaml")
	stage.Must(t, os.WriteFile(file, []byte("state: ./s\nchannels: {web: {listen: \"127.0.0.1:0\"}}\n"), 0o600), os.Mkdir(filepath.Join(dir, "s"), 0o700))
	frozen, err := net.Listen("unix", filepath.Join(dir, "s", operator.SocketName))
	stage.Must(t, err)
	t.Cleanup(func() { frozen.Close() })
	for _, args := range [][]string{{"reload"}, {"groups", "requests"}} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			_, said, code := stage.RunLine(t, file, args...)
			if code == terminal.ExitOK || !strings.Contains(said, "running and not answering") {
				t.Errorf("%d: %s", code, said)
			}
		})
	}
}
