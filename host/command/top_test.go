package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/tasks"
)

// crowded is an Overview with long and hostile texts in every place.
func crowded() operator.Overview {
	evil := "\x1b[2J\u202eevil\n" + strings.Repeat("界", 100)
	o := operator.Overview{Time: time.Now(), Status: operator.Status{Running: true, Version: "v1", Started: time.Now(), Errors: 3}}
	o.Status.Channels = []operator.Channel{{Name: "web", Detail: evil}}
	for i := range 30 {
		o.Status.Groups = append(o.Status.Groups, operator.Group{Folder: fmt.Sprintf("group-%d-%s", i, evil), Name: evil, Assistant: evil, Pending: i})
		o.Queue = append(o.Queue, operator.Item{ID: "0123456789abcdef", Kind: operator.Delivery, Group: evil, State: "sending", Bytes: 100, Done: 25, Message: evil})
	}
	o.Status.Assistants = []operator.Assistant{{Group: o.Status.Groups[0].Folder, State: "broken", Detail: evil}}
	o.Failed = []operator.Item{{ID: evil, Kind: operator.Request, Group: evil, Code: "code", Message: evil}}
	o.Requests = []operator.PairingCode{{Code: evil, From: evil}}
	o.Tasks = []tasks.Task{{ID: "task-1", Folder: evil, Words: evil, Status: "active"}}
	return o
}

func TestTopFitsEightyColumns(t *testing.T) {
	lines := (&env{}).topLines(crowded(), 80)
	for _, line := range lines {
		if n := utf8.RuneCountInString(line) + strings.Count(line, "界"); n > 80 || strings.ContainsFunc(line, dangerous) {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"queue 435, errors 3", "25 %", "group-29", "wait for you: 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if frame := terminal.FrameOf(lines, 24); strings.Count(frame, "\r\n") != 23 || strings.Count(frame, "\n") != 23 {
		t.Errorf("a frame for 24 rows has %d line ends", strings.Count(frame, "\n"))
	}
}

// looks is a Control that is asked for an Overview.
type looks struct {
	operator.Control
	seen chan struct{}
}

func (l looks) Status(context.Context) (operator.Status, error) {
	l.seen <- struct{}{}
	return operator.Status{Running: true}, nil
}

func (l looks) List(context.Context, operator.Filter) ([]operator.Item, error) { return nil, nil }

func (l looks) PairingCodes(context.Context) ([]operator.PairingCode, error) { return nil, nil }

func (l looks) Tasks(context.Context, string) ([]tasks.Task, error) { return nil, nil }

func TestTopLeavesTheTerminalClean(t *testing.T) {
	var out bytes.Buffer
	ctx, interrupt := context.WithCancel(t.Context())
	l := looks{seen: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- (&env{Terminal: terminal.Terminal{Stdout: &out}}).topLive(ctx, l, time.Millisecond) }()
	for range 3 {
		<-l.seen
	}
	interrupt()
	for {
		select {
		case <-l.seen: // one look may be under way
			continue
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		}
		break
	}
	if s := out.String(); !strings.HasPrefix(s, terminal.EnterScreen) || !strings.HasSuffix(s, terminal.LeaveScreen) || strings.Count(s, "\x1b[H") < 2 {
		t.Errorf("the terminal got %q", s)
	}
}

// TestThePageTopAndTheMetricsAgree compares what a host says in three places of the same moment.
func TestThePageTopAndTheMetricsAgree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	h := stage.StartHost(t, stage.ConfigIn(t, file, string(demoConfig)+"\noperator_page: {listen: 127.0.0.1:0}\n"), nil)
	for _, id := range []string{"a", "b"} { // refused, and so in the errors folder
		made := filepath.Join(filepath.Dir(file), id+".json")
		stage.Write(t, made, `{"type":"none"}`)
		stage.Must(t, os.Rename(made, filepath.Join(h.Layout.IPC("family", "messages"), id+".json"))) // the host sees it whole
	}
	page := signedInPage(t, file)
	deadline := time.After(stage.Patience)
	for {
		var top, shown operator.Overview
		out, code := stage.Command(t, "-c", file, "--json", "top")
		if err := json.Unmarshal([]byte(out), &top); err != nil || code != 0 {
			t.Fatal(err, out)
		}
		if err := json.Unmarshal([]byte(page("/v1/overview")), &shown); err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		h.Local(true).Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		errors := regexp.MustCompile(`(?m)^longshore_errors_requests (\d+)$`).FindStringSubmatch(w.Body.String())
		pending := regexp.MustCompile(`(?m)^longshore_outbox_pending_parts (\d+)$`).FindStringSubmatch(w.Body.String())
		got := []string{fmt.Sprint(top.Status.Errors, pendingOf(top.Status)), fmt.Sprint(shown.Status.Errors, pendingOf(shown.Status)), errors[1] + " " + pending[1]}
		if got[0] == "2 0" && got[1] == got[0] && got[2] == got[0] {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("errors and queue by top, page, metrics: %q", got)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if text, code := stage.Command(t, "-c", file, "top", "--once"); code != 0 || !strings.Contains(text, "queue 0, errors 2") {
		t.Errorf("%d: %s", code, text)
	}
}

// signedInPage signs in by the address that the command prints, and returns what asks.
func signedInPage(t *testing.T, file string) func(path string) string {
	t.Helper()
	var address string
	deadline := time.After(stage.Patience)
	for {
		out, code := stage.Command(t, "-c", file, "page")
		if address = strings.TrimSpace(out); code == 0 {
			break
		}
		select {
		case <-deadline:
			t.Fatalf("no address: %s", out)
		case <-time.After(20 * time.Millisecond):
		}
	}
	base, token, _ := strings.Cut(address, "/#")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var answer struct{ Key string }
	do := func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+answer.Key)
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var b bytes.Buffer
		if _, err := b.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v, %s", path, res.StatusCode, err, b.String())
		}
		return b.String()
	}
	if err := json.Unmarshal([]byte(do("POST", "/sign-in", token)), &answer); err != nil {
		t.Fatal(err)
	}
	return func(path string) string { return do("GET", path, "") }
}

func TestWithoutAPageTheCommandSaysWhatToWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "longshore.yaml")
	cfg := stage.ConfigIn(t, file, string(demoConfig))
	if out, code := stage.Command(t, "-c", file, "page"); code != terminal.ExitFault || !strings.Contains(out, " serve") {
		t.Errorf("without a host: %d, %s", code, out)
	}
	stage.StartHost(t, cfg, nil)
	deadline := time.After(stage.Patience)
	for {
		out, _ := stage.Command(t, "-c", file, "page")
		if strings.Contains(out, `operator_page: {listen: "127.0.0.1:8400"}`) {
			return
		}
		select {
		case <-deadline:
			t.Fatal(out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
