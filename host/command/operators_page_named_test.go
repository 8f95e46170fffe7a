package command

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// TestTheOperatorsPageWasNamedByNoFirstCommand: setup and demo print an address of it that
// signs one browser in, and init writes it and names the command.
func TestTheOperatorsPageWasNamedByNoFirstCommand(t *testing.T) {
	t.Run("setup", func(t *testing.T) {
		listen := stage.FreeAddress(t)
		s := setUp(t, t.TempDir(), "--group", "Family", "--listen", listen)
		signsInOnce(t, s.said)
		s.end(t)
	})
	t.Run("demo", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		out, said := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- Run(ctx, "", stage.AllPlatforms(), []string{"demo", "--listen", "127.0.0.1:0"}, strings.NewReader(""), said, io.Discard)
			said.Close()
		}()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "manage ") {
				signsInOnce(t, lines.Text())
				stop()
			}
		}
		if code := <-ended; ctx.Err() == nil || code != terminal.ExitOK {
			t.Errorf("the demo ended with %d, and named no operator's page", code)
		}
		stop()
	})
	t.Run("init", func(t *testing.T) {
		var out bytes.Buffer
		file := filepath.Join(t.TempDir(), "longshore.yaml")
		code := Run(t.Context(), "", stage.AllPlatforms(), []string{"-c", file, "init"}, strings.NewReader(""), &out, &out)
		text, err := os.ReadFile(file)
		if code != terminal.ExitOK || err != nil || !strings.Contains(string(text), "\noperator_page:\n  listen: 127.0.0.1:8400\n") || !strings.Contains(out.String(), "longshore -c "+file+" page") {
			t.Errorf("%d, %v\n%s", code, err, &out)
		}
	})
}

// signsInOnce demands an address of the operator's page on loopback in a text.
func signsInOnce(t *testing.T, text string) {
	t.Helper()
	address := regexp.MustCompile(`(http://127\.0\.0\.1:\d+/)#([A-Z2-7]+)`).FindStringSubmatch(text)
	if address == nil {
		t.Fatalf("no address of the operator's page in\n%s", text)
	}
	for _, want := range []int{http.StatusOK, http.StatusUnauthorized} {
		resp, err := http.Post(address[1]+"sign-in", "text/plain", strings.NewReader(address[2]))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("signing in at %s: %s, want %d", address[1], resp.Status, want)
		}
	}
}
