package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/internal/cause"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo says back what it was asked, and can be told to wait or to fail.
type echo struct {
	turns chan agent.Turn // each turn, before it is answered
	hold  chan struct{}   // where not nil, a turn ends only after one of these
	err   error
}

func (e *echo) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	e.turns <- t
	if e.hold != nil {
		select {
		case <-e.hold:
		case <-ctx.Done():
			return agent.Reply{}, ctx.Err()
		}
	}
	return agent.Reply{Text: "echo: " + t.Prompt, Session: "s-1"}, e.err
}

// conversation runs one in the background.
type conversation struct {
	host   *fakehost.Host
	stdout *io.PipeReader
	ended  chan error
	stop   context.CancelFunc
}

func converse(t *testing.T, a agent.Agent, h *fakehost.Host, start string) *conversation {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	c := &conversation{host: h, stdout: r, ended: make(chan error, 1), stop: cancel}
	go func() {
		err := agent.Run(ctx, strings.NewReader(start), w, agent.Options{Agent: a, IPC: h.IPC})
		w.Close()
		c.ended <- err
	}()
	t.Cleanup(func() { cancel(); r.Close() })
	return c
}

// next reads the next marked output.
func (c *conversation) next(t *testing.T) map[string]any {
	t.Helper()
	const start, end = "---NANOCLAW_OUTPUT_START---\n", "\n---NANOCLAW_OUTPUT_END---\n"
	var got strings.Builder
	b := make([]byte, 1)
	for !strings.HasSuffix(got.String(), end) {
		if _, err := c.stdout.Read(b); err != nil {
			t.Fatalf("after %q: %v", got.String(), err)
		}
		got.Write(b)
	}
	body, ok := strings.CutPrefix(strings.TrimSuffix(got.String(), end), start)
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil || !ok {
		t.Fatalf("output %q: %v", got.String(), err)
	}
	return fields
}

func (c *conversation) followUp(t *testing.T, name, text string) {
	t.Helper()
	b, err := json.Marshal(map[string]string{"type": "message", "text": text})
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(c.host.IPC, "input", name+".tmp")
	if err := errors.Join(os.WriteFile(temp, b, 0o644), os.Rename(temp, strings.TrimSuffix(temp, ".tmp"))); err != nil {
		t.Fatal(err)
	}
}

func (c *conversation) close(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.host.IPC, "input", "_close"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *conversation) wait(t *testing.T) error {
	t.Helper()
	go func() { _, _ = io.Copy(io.Discard, c.stdout) }()
	select {
	case err := <-c.ended:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the conversation does not end")
		return nil
	}
}

const start = `{"prompt":"first","sessionId":"s-0","groupFolder":"family","chatJid":"web:family","isMain":true,
	"secrets":{"API_KEY":"k","bad name":"x"},"assistantName":"Andy","aNewerHost":"says more"}`

func TestConversationGoesFromTurnToTurnUntilItIsClosed(t *testing.T) {
	h := fakehost.New(t, nil)
	if err := os.WriteFile(filepath.Join(h.IPC, "input", "_close"), nil, 0o644); err != nil { // stale
		t.Fatal(err)
	}
	a := &echo{turns: make(chan agent.Turn, 9)}
	c := converse(t, a, h, start)
	if diff := cmp.Diff(map[string]any{"status": "success", "result": "echo: first", "newSessionId": "s-1", "inputs": []any{}}, c.next(t)); diff != "" {
		t.Errorf("first output (-want +got):\n%s", diff)
	}
	first := <-a.turns
	want := []string{"LONGSHORE_CHAT_JID=web:family", "LONGSHORE_GROUP_FOLDER=family", "LONGSHORE_IS_MAIN=1",
		"NANOCLAW_CHAT_JID=web:family", "NANOCLAW_GROUP_FOLDER=family", "NANOCLAW_IS_MAIN=1",
		"LONGSHORE_ASSISTANT_NAME=Andy", "API_KEY=k"}
	first.FollowUps, first.Say, first.Used = nil, nil, nil
	if diff := cmp.Diff(agent.Turn{Prompt: "first", Session: "s-0", Env: want}, first); diff != "" {
		t.Errorf("first turn (-want +got):\n%s", diff)
	}
	c.followUp(t, "1-a.json", "second")
	if got := c.next(t); got["result"] != "echo: second" || !slices.Equal(got["inputs"].([]any), []any{"1-a.json"}) {
		t.Errorf("second output %v", got)
	}
	if second := <-a.turns; second.Session != "s-1" {
		t.Errorf("the session was not kept: %q", second.Session)
	}
	c.close(t)
	if err := c.wait(t); err != nil {
		t.Error(err)
	}
}

func TestFollowUpsThatATurnDoesNotHearArePartOfTheNext(t *testing.T) {
	h := fakehost.New(t, nil)
	a := &echo{turns: make(chan agent.Turn, 9), hold: make(chan struct{})}
	c := converse(t, a, h, start)
	<-a.turns
	c.followUp(t, "2-b.json", "third")
	c.followUp(t, "1-a.json", "second")
	a.hold <- struct{}{}
	c.next(t)
	if turn := <-a.turns; turn.Prompt != "second\nthird" {
		t.Errorf("next turn %q", turn.Prompt)
	}
	c.close(t)
	a.hold <- struct{}{}
	c.next(t)
	if err := c.wait(t); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(h.IPC, "input")); len(left) > 0 {
		t.Errorf("left in input/: %v", left)
	}
}

func TestStopEndsATurnCleanly(t *testing.T) {
	a := &echo{turns: make(chan agent.Turn, 9), hold: make(chan struct{})}
	c := converse(t, a, fakehost.New(t, nil), start)
	<-a.turns
	c.stop()
	if err := c.wait(t); err != nil {
		t.Error(err)
	}
}

func TestFailedTurnIsToldAndEndsTheRun(t *testing.T) {
	a := &echo{turns: make(chan agent.Turn, 9), err: errors.New("model not reachable")}
	c := converse(t, a, fakehost.New(t, nil), start)
	want := map[string]any{"status": "error", "result": nil, "newSessionId": "s-0", "error": "model not reachable", "inputs": []any{}}
	if diff := cmp.Diff(want, c.next(t)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if err := c.wait(t); err == nil {
		t.Error("the run ends as if nothing had happened")
	}
}

func TestBrokenStartDocumentIsAnError(t *testing.T) {
	for _, start := range []string{"", "{", `{"prompt":1}`, "hello"} {
		c := converse(t, &echo{}, fakehost.New(t, nil), start)
		if err := c.wait(t); err == nil || !strings.Contains(err.Error(), "start document") {
			t.Errorf("%q: got %v", start, err)
		}
	}
}

func TestLastMessageIsFoundInEveryFormOfPrompt(t *testing.T) {
	for prompt, want := range map[string]string{
		"plain words": "plain words",
		"<messages>\n<message sender=\"Ada\" time=\"1\">one</message>\n<message sender=\"Bob\" time=\"2\">send me the report</message>\n</messages>":             "send me the report",
		"<context timezone=\"UTC\" />\n<messages>\n<message sender=\"A &amp; B\">a &lt; b &amp;amp; &quot;c&quot;</message>\n</messages>":                        `a < b &amp; "c"`,
		`<messages><message sender="A" reply_to="1"><quoted_message from="B">old</quoted_message>new</message></messages>`:                                       "new",
		`<messages><message sender="A" sender_id="0a1b2c3d" reply_to="1"><quoted_message from="B" unverified="yes">old</quoted_message>new</message></messages>`: "new",
		`<messages><message sender="A">line 1` + "\n" + `line 2</message></messages>`:                                                                            "line 1\nline 2",
		"<messages>\n<message sender=\"A\">send inbox/a.pdf\n<attachment path=\"/workspace/group/inbox/a.pdf\" name=\"a.pdf\" />\n</message>\n</messages>":       "send inbox/a.pdf",
		`<message sender="A`: `<message sender="A`,
		"":                   "",
	} {
		if got := agent.LastMessage(prompt); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", prompt, got, want)
		}
	}
}

func FuzzLastMessage(f *testing.F) {
	f.Add(`<messages><message sender="A">&amp;<quoted_message>x</quoted_message></message></messages>`)
	f.Fuzz(func(t *testing.T, prompt string) {
		if got := agent.LastMessage(prompt); len(got) > len(prompt) {
			t.Errorf("%q grew to %q", prompt, got)
		}
	})
}

func TestCommandIsAnAssistant(t *testing.T) {
	c := agent.Command{Args: []string{"sh", "-c", `echo "$LONGSHORE_CONVERSATION $KEY: $(cat)"; echo noise >&2`}}
	first, err := c.Turn(t.Context(), agent.Turn{Prompt: "hi", Env: []string{"KEY=v"}})
	if err != nil || first.Text != first.Session+" v: hi" || first.Session == "" {
		t.Fatalf("reply %+v, error %v", first, err)
	}
	second, err := c.Turn(t.Context(), agent.Turn{Prompt: "again", Session: first.Session})
	if err != nil || second.Session != first.Session || second.Text != first.Session+" : again" {
		t.Errorf("reply %+v, error %v", second, err)
	}
}

func TestCommandThatFailsSaysWhy(t *testing.T) {
	_, err := agent.Command{Args: []string{"sh", "-c", "echo first >&2; printf 'no \\033[2Jkey' >&2; exit 3"}}.Turn(t.Context(), agent.Turn{})
	if err == nil || !strings.Contains(err.Error(), `exit status 3: "no \x1b[2Jkey"`) {
		t.Errorf("got %v", err)
	}
	if _, err := (agent.Command{Args: []string{"/no/such/program"}}).Turn(t.Context(), agent.Turn{}); err == nil {
		t.Error("a missing program is no error")
	}
}

func TestCommandIsStoppedWithItsTurn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := agent.Command{Args: []string{"cat", fifo}}.Turn(ctx, agent.Turn{})
		done <- err
	}()
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the program to read
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAnswerWithoutEndIsCut(t *testing.T) {
	h := fakehost.New(t, nil)
	c := converse(t, agent.Command{Args: []string{"sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x"}}, h, start)
	got := fmt.Sprint(c.next(t)["result"])
	if len(got) < 1<<20 || len(got) > 1<<20+100 || !strings.HasSuffix(got, "was cut]") {
		t.Errorf("%d bytes, ending in %q", len(got), got[max(0, len(got)-40):])
	}
}

func TestCommandIsAJSONArray(t *testing.T) {
	if c, err := agent.ParseCommand(`["claude","-p"]`); err != nil || len(c.Args) != 2 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []string{"", "claude -p", "[]", `[""]`, `{"a":1}`} {
		if _, err := agent.ParseCommand(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// troubled is an assistant whose model is busy before it answers.
type troubled struct{ echo }

func (a *troubled) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	if t.Trouble != nil {
		t.Trouble(agent.Trouble{Cause: cause.Busy, Detail: "status 429", For: 3 * time.Second})
		t.Trouble(agent.Trouble{})
	}
	if a.err != nil {
		return agent.Reply{}, a.err
	}
	return a.echo.Turn(ctx, t)
}

// NanoClaw v1's host knows two statuses only.
func TestTroubleIsToldToAHostThatAsksForIt(t *testing.T) {
	for _, asks := range []bool{true, false} {
		a := &troubled{echo{turns: make(chan agent.Turn, 9)}}
		c := converse(t, a, fakehost.New(t, nil), fmt.Sprintf(`{"prompt":"first","chatJid":"web:family","groupFolder":"family","trouble":%t}`, asks))
		if asks {
			want := map[string]any{"status": "waiting", "result": nil, "error": "status 429", "cause": "busy", "seconds": 3.0, "inputs": []any{}}
			if diff := cmp.Diff(want, c.next(t)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if end := c.next(t); end["status"] != "waiting" || end["cause"] != nil {
				t.Errorf("the end of the trouble is told as %v", end)
			}
		}
		if answer := c.next(t); answer["result"] != "echo: first" {
			t.Errorf("answer %v", answer)
		}
		c.close(t)
		if err := c.wait(t); err != nil {
			t.Error(err)
		}
	}
}

func TestTheCauseOfAFailedTurnIsTold(t *testing.T) {
	a := &troubled{echo{err: cause.With(cause.Key, errors.New("the model rejects the key"))}}
	c := converse(t, a, fakehost.New(t, nil), start)
	if got := c.next(t); got["cause"] != "key_not_accepted" || got["status"] != "error" {
		t.Errorf("output %v", got)
	}
	if err := c.wait(t); err == nil {
		t.Error("the run ends as if nothing had happened")
	}
}

// spender says twice in a turn what it used, and answers.
type spender struct{}

func (spender) Turn(_ context.Context, t agent.Turn) (agent.Reply, error) {
	t.Used(agent.Usage{Input: 5, Cached: 4, Output: 1})
	t.Used(agent.Usage{Input: 7, Output: 2, Cost: 0.5})
	if t.Prompt == "fail" {
		return agent.Reply{}, errors.New("broke")
	}
	return agent.Reply{Text: "done"}, nil
}

// A turn that breaks costs, too.
func TestAnOutputTellsWhatItsTurnUsed(t *testing.T) {
	for _, prompt := range []string{"work", "fail"} {
		c := converse(t, spender{}, fakehost.New(t, nil), fmt.Sprintf(`{"prompt":%q}`, prompt))
		want := map[string]any{"input_tokens": 12.0, "cached_tokens": 4.0, "output_tokens": 3.0, "cost_usd": 0.5}
		if diff := cmp.Diff(want, c.next(t)["usage"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prompt, diff)
		}
		c.stop()
		<-c.ended
	}
}
