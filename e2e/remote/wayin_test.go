package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// wayIn is a way by which an assistant's files come in, for one conversation.
type wayIn interface {
	// begin asks for a file to be sent and does not wait. The same key is the same request.
	begin(key, name, content string) (id string)
	wait(id string) ipc.Result
	withdraw(id string) bool
	chat() ipc.Context // what the tools may tell the assistant

	// hears waits until the group's assistant has read a member's text; answers is its
	// answer to that.
	hears(text string)
	answers(text string)
}

// byQueue is the shared directory of the group desk.
type byQueue struct {
	*elsewhere
	client *ipc.Client
}

func (q byQueue) begin(key, name, content string) string {
	q.t.Helper()
	path := q.layout.IPC("desk", ipc.FilesDir+"/"+key)
	err := errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, name), []byte(content), 0o644))
	b, encoded := ipc.Encode(ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/ipc/files/" + key + "/" + name}}})
	file, at := q.layout.IPC("desk", ipc.MessagesDir+"/"+key+".json"), time.UnixMicro(1_800_000_000_000_000)
	err = errors.Join(err, encoded, os.WriteFile(file+".tmp", b, 0o644), os.Chtimes(file+".tmp", at, at), os.Rename(file+".tmp", file))
	if err != nil {
		q.t.Fatal(err)
	}
	return key
}

func (q byQueue) wait(id string) ipc.Result {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), stage.Patience)
	defer cancel()
	r, err := q.client.Wait(ctx, id, nil)
	if err != nil {
		q.t.Fatal(err)
	}
	return r
}

func (q byQueue) withdraw(id string) bool {
	done, err := q.client.Withdraw(id)
	if err != nil {
		q.t.Fatal(err)
	}
	return done
}

func (q byQueue) chat() (c ipc.Context) {
	q.t.Helper()
	stage.Eventually(q.t, "the host has described the chat", func() (ok bool) {
		var err error
		c, err = q.client.Context()
		return err == nil
	})
	return c
}

// The assistant of the group desk is answerer.
func (q byQueue) hears(text string) {
	q.t.Helper()
	heard := filepath.Join(q.layout.Workspace("desk"), "heard")
	stage.Eventually(q.t, "the assistant has read "+text, func() bool {
		b, _ := os.ReadFile(heard)
		return bytes.Contains(b, []byte(text)) && os.Remove(heard) == nil
	})
}

func (q byQueue) answers(text string) {
	q.t.Helper()
	file := filepath.Join(q.layout.Workspace("desk"), "answer")
	if err := errors.Join(os.WriteFile(file+".tmp", []byte(text), 0o644), os.Rename(file+".tmp", file)); err != nil {
		q.t.Fatal(err)
	}
}

// answerer is a program that writes down its prompt, and waits for its answer.
const answerer = `{runtime: process, agent: command, command: [sh, -c, "cat >heard.tmp; mv heard.tmp heard; while [ ! -e answer ]; do sleep 0.1; done; cat answer"]}`

// byDoor is HTTP with a token of the group desk.
type byDoor struct {
	*elsewhere
	secret string
}

func (d byDoor) begin(key, name, content string) string {
	d.t.Helper()
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	part, _ := m.CreateFormFile("file", name)
	_, _ = io.WriteString(part, content)
	_ = m.Close()
	r, status := d.ask("POST", "/api/send-media?wait=0s", d.secret, key, &form, m.FormDataContentType())
	if r.ID == "" {
		d.t.Fatal(status, r)
	}
	return r.ID
}

func (d byDoor) wait(id string) (r ipc.Result) {
	d.t.Helper()
	stage.Eventually(d.t, "the result is final", func() bool {
		r, _ = d.ask("GET", "/api/deliveries/"+id+"?wait=45s", d.secret, "", nil, "")
		return r.Status.Final()
	})
	return r
}

func (d byDoor) withdraw(id string) bool {
	_, status := d.ask("DELETE", "/api/deliveries/"+id, d.secret, "", nil, "")
	return status == http.StatusNoContent
}

func (d byDoor) hears(text string) {
	d.t.Helper()
	if !strings.Contains(d.oldest().Text, text) {
		d.t.Errorf("read %+v, not %s", d.oldest(), text)
	}
}

func (d byDoor) answers(text string) {
	d.t.Helper()
	body, _ := json.Marshal(map[string]string{"text": text})
	d.get("POST", "/api/inbox/"+d.oldest().ID+"/ack", d.secret, bytes.NewReader(body), nil)
}

// oldest is the message that waits for the longest time.
func (d byDoor) oldest() (m ipc.Message) {
	d.t.Helper()
	stage.Eventually(d.t, "a message waits", func() bool {
		var in ipc.Inbox
		d.get("GET", "/api/inbox?wait=20s", d.secret, nil, &in)
		if len(in.Messages) > 0 {
			m = in.Messages[0]
		}
		return m.ID != ""
	})
	return m
}

func (d byDoor) chat() (c ipc.Context) {
	d.t.Helper()
	d.get("GET", "/api/chat", d.secret, nil, &c)
	return c
}

// byRunner is agentrunner elsewhere, with a token of the group desk in place of its queue.
type byRunner struct {
	*elsewhere
	secret string
	client *remoteclient.Client
}

func newRunner(r *elsewhere) byRunner {
	r.t.Helper()
	secret := r.token("desk", "")
	client, err := remoteclient.New(r.url, secret)
	if err != nil {
		r.t.Fatal(err)
	}
	return byRunner{r, secret, client}
}

// run is a command of agentrunner in a directory of its own, which the host does not know.
func (a byRunner) run(args ...string) *exec.Cmd {
	a.t.Helper()
	dir := filepath.Join(a.dir, "far away")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		a.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], append([]string{"agentrunner"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "LONGSHORE_URL="+a.url, "LONGSHORE_TOKEN="+a.secret, "LONGSHORE_IPC=/nowhere", "HOME="+a.dir)
	return cmd
}

func (a byRunner) begin(key, name, content string) string {
	a.t.Helper()
	cmd := a.run("send", "--no-wait", "--json", "--key", key, name)
	if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
	out, err := cmd.Output()
	var told sender.Report
	if json.Unmarshal(out, &told) != nil || told.ID == "" {
		a.t.Fatalf("%v: %s", err, out)
	}
	return told.ID
}

func (a byRunner) wait(id string) ipc.Result {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), stage.Patience)
	defer cancel()
	r, err := a.client.Wait(ctx, id, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

func (a byRunner) withdraw(id string) bool {
	a.t.Helper()
	done, err := a.client.Withdraw(id)
	if err != nil {
		a.t.Fatal(err)
	}
	return done
}

// An assistant elsewhere fetches its messages by itself.
func (a byRunner) hears(text string) { byDoor{a.elsewhere, a.secret}.hears(text) }

func (a byRunner) answers(text string) { byDoor{a.elsewhere, a.secret}.answers(text) }

func (a byRunner) chat() ipc.Context {
	a.t.Helper()
	c, err := a.client.Context()
	if err != nil {
		a.t.Fatal(err)
	}
	return c
}

// TestEveryWayInKeepsItsPromises: what an assistant may rely on does not depend on the way by
// which its files come in.
func TestEveryWayInKeepsItsPromises(t *testing.T) {
	for name, in := range map[string]struct {
		assistant string
		open      func(r *elsewhere) wayIn
	}{
		"queue":                 {answerer, func(r *elsewhere) wayIn { return byQueue{r, ipc.NewClient(r.layout.IPC("desk", ""))} }},
		"door":                  {fetcher, func(r *elsewhere) wayIn { return byDoor{r, r.token("desk", "")} }},
		"agentrunner over HTTP": {fetcher, func(r *elsewhere) wayIn { return newRunner(r) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, open := newElsewhereFor(t, in.assistant), in.open
			in := open(r)
			describes(t, r, in)
			acceptsAndRefuses(t, r, in)
			in = survives(t, r, in, open)
			in = answersOnce(t, r, in, open)
			withdraws(t, r, in)
		})
	}
}

// describes: the assistant learns its own chat and its limits, as the queue tells them, and
// no path of the host's.
func describes(t *testing.T, r *elsewhere, in wayIn) {
	t.Helper()
	want, got := byQueue{r, ipc.NewClient(r.layout.IPC("desk", ""))}.chat(), in.chat()
	if got.Folder != "desk" || got.Chat != want.Chat || got.Channel != want.Channel || !maps.Equal(got.Limits, want.Limits) {
		t.Errorf("described: %+v, by the queue %+v", got, want)
	}
	b, err := json.Marshal(got)
	if err != nil || bytes.Contains(b, []byte(r.layout.State)) {
		t.Errorf("described with a path of the host: %s, %v", b, err)
	}
}

// acceptsAndRefuses: what is accepted is in the chat as it was; what is refused says why.
func acceptsAndRefuses(t *testing.T, r *elsewhere, in wayIn) {
	t.Helper()
	sent := in.wait(in.begin("one", "one.txt", "one"))
	if sent.Status != ipc.Sent || sent.Channel != "push" || len(sent.Parts) != 1 || sent.Parts[0].Name != "one.txt" || sent.Parts[0].Size != 3 {
		t.Errorf("accepted: %+v", sent)
	}
	if shown := r.receiver.Shown(t, "push:desk", 1)[0]; len(shown.Files) != 1 || shown.Files[0].SHA256 != sent.Parts[0].SHA256 {
		t.Errorf("in the chat: %+v", shown)
	}
	refused := in.wait(in.begin("env", ".env", "PASSWORD=1"))
	if refused.Status != ipc.Refused || refused.Code != "screened" || refused.Hint == "" {
		t.Errorf("refused: %+v", refused)
	}
}

// survives: a request that is made again after its host was killed is the same one, and a
// result that comes late is there.
func survives(t *testing.T, r *elsewhere, in wayIn, open func(*elsewhere) wayIn) wayIn {
	t.Helper()
	r.receiver.Next(pushtest.Fault{Status: http.StatusServiceUnavailable, Header: map[string]string{"Retry-After": "1"}})
	id := in.begin("two", "two.txt", "two")
	r.kill()
	r.start()
	in = open(r)
	if again := in.begin("two", "two.txt", "two"); again != id {
		t.Errorf("the same request is %s, then %s", id, again)
	}
	if late := in.wait(id); !late.Status.Reached() {
		t.Errorf("late: %+v", late)
	}
	if shown := r.receiver.Shown(t, "push:desk", 2); len(shown) != 2 {
		t.Errorf("%d messages are in the chat", len(shown))
	}
	return in
}

// answersOnce: a member's message is read again after its host was killed before the answer,
// and is answered once.
func answersOnce(t *testing.T, r *elsewhere, in wayIn, open func(*elsewhere) wayIn) wayIn {
	t.Helper()
	r.post("", "is it cargo?")
	in.hears("is it cargo?")
	r.kill()
	r.start()
	in = open(r)
	in.hears("is it cargo?")
	in.answers("It is.")
	stage.Eventually(t, "the answer is in the chat", func() bool {
		for _, m := range r.receiver.Shown(t, "push:desk", 0) {
			if m.Text == "It is." {
				return true
			}
		}
		return false
	})
	if shown := r.receiver.Shown(t, "push:desk", 3); len(shown) != 3 {
		t.Errorf("%d messages are in the chat: %+v", len(shown), shown)
	}
	return in
}

// withdraws: what waits for room is withdrawn and never sent; what was sent is not.
func withdraws(t *testing.T, r *elsewhere, in wayIn) {
	t.Helper()
	down := make([]pushtest.Fault, 100)
	for i := range down {
		down[i] = pushtest.Fault{Status: http.StatusServiceUnavailable}
	}
	r.receiver.Next(down...)
	first := in.begin("three", "three.txt", "three") // fills the outbox
	waits(t, r, first, func(s ipc.Result) bool { return s.Channel != "" })
	second := in.begin("four", "four.txt", "four")
	waits(t, r, second, func(s ipc.Result) bool { return s.Code != "" })
	if !in.withdraw(second) {
		t.Error("what waits could not be withdrawn")
	}
	if in.withdraw(first) {
		t.Error("what was accepted could be withdrawn")
	}
}

// waits until the host has said something of a request.
func waits(t *testing.T, r *elsewhere, id string, enough func(ipc.Result) bool) {
	t.Helper()
	var last ipc.Result
	stage.Eventually(t, fmt.Sprint("the host takes note of ", id), func() bool {
		b, err := os.ReadFile(r.layout.IPC("desk", ipc.ResultsDir+"/"+id+".json"))
		return cmp.Or(err, json.Unmarshal(b, &last)) == nil && enough(last)
	})
}
