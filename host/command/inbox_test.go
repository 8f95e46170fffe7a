package command

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestTheScriptOfTheDocsAnswersMembers: what docs/remote.md has to copy, run by a shell with
// curl and jq, answers each member's message once, also if its host is killed meanwhile.
func TestTheScriptOfTheDocsAnswersMembers(t *testing.T) {
	for _, needed := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skip("needs " + needed)
		}
	}
	r := newElsewhere(t)
	_, script, _ := strings.Cut(read(t, "../../docs/remote.md"), "```sh\n")
	script, _, whole := strings.Cut(script, "```")
	auth, file := filepath.Join(r.dir, "auth"), filepath.Join(r.dir, "answer.sh")
	err := errors.Join(os.WriteFile(auth, []byte("Authorization: Bearer "+r.token("desk", "")+"\n"), 0o600), os.WriteFile(file, []byte(script), 0o700))
	if !whole || err != nil {
		t.Fatal(whole, err)
	}
	cmd := exec.CommandContext(t.Context(), file)
	cmd.Env = append(os.Environ(), "URL="+r.url, "AUTH="+auth)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the script says:\n%s", said.String())
		}
	})
	r.post("", `a "quoted" $(word) \n and 'more'`)
	r.receiver.Shown(t, "push:desk", 1)
	r.kill()
	r.start()
	r.post("", "after the crash")
	shown := r.receiver.Shown(t, "push:desk", 2)
	if shown[0].Text != `You wrote: a "quoted" $(word) \n and 'more'` || shown[1].Text != "You wrote: after the crash" {
		t.Errorf("%+v", shown)
	}
	eventually(t, "nothing waits", func() bool {
		var in ipc.Inbox
		r.get("GET", "/api/inbox", r.token("desk", ""), nil, &in)
		return in.Waiting == 0
	})
	if shown := r.receiver.Shown(t, "push:desk", 2); len(shown) != 2 {
		t.Errorf("%d answers", len(shown))
	}
}

// TestAMembersFileGoesElsewhere byte for byte, in one piece or from where a download broke
// off, also after the host was killed, and to nobody else.
func TestAMembersFileGoesElsewhere(t *testing.T) {
	r := newElsewhere(t)
	content := bytes.Repeat([]byte("rope and tar "), 100_000)
	reply := pushtest.Reply{Type: "message", Chat: "push:desk", ID: "f", From: "Ann", Text: "see", Direct: true, Files: []pushtest.ReplyFile{{URL: r.receiver.Keep("rope.txt", content), Name: "rope.txt"}}}
	eventually(t, "the host takes a message", func() bool { return r.receiver.Post(t.Context(), "http://"+r.listen+"/", reply) == nil })
	token := r.token("desk", "")
	message := byDoor{r, token}.oldest()
	if len(message.Files) != 1 || message.Files[0].Size != int64(len(content)) || message.Files[0].Name != "rope.txt" {
		t.Fatalf("%+v", message)
	}
	path := "/api/inbox/" + message.ID + "/files/1"
	r.kill()
	r.start()
	half := r.download(path, token, "bytes=0-599999")
	if got := append(half, r.download(path, token, "bytes=600000-")...); sha256.Sum256(got) != sha256.Sum256(content) {
		t.Errorf("%d bytes in two pieces, not the file", len(got))
	}
	if _, status := r.ask("GET", path, r.token("desk", "another thread"), "", nil, ""); status != http.StatusNotFound {
		t.Error("another thread:", status)
	}
	if _, status := r.ask("GET", path, r.token("quay", ""), "", nil, ""); status != http.StatusNotFound {
		t.Error("another group:", status)
	}
	r.get("POST", "/api/inbox/"+message.ID+"/ack", token, nil, nil)
	if _, status := r.ask("GET", path, token, "", nil, ""); status != http.StatusNotFound {
		t.Error("after the acknowledgement:", status)
	}
	if left, err := os.ReadDir(filepath.Join(r.layout.Workspace("desk"), "inbox")); err != nil || len(left) != 0 {
		t.Error("left:", left, err)
	}
}

// download fetches a part of a file.
func (r *elsewhere) download(path, token, span string) []byte {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), "GET", r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Range", span)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusPartialContent || res.ContentLength != int64(b.Len()) {
		r.t.Fatal(res.StatusCode, b.Len(), err)
	}
	return b.Bytes()
}

// TestTheOperatorSeesWhoFetches: status, why and doctor name an assistant that lives elsewhere,
// and what it lacks.
func TestTheOperatorSeesWhoFetches(t *testing.T) {
	r := newElsewhere(t)
	config := filepath.Join(r.dir, "longshore.yaml")
	says := func(want string, args ...string) {
		t.Helper()
		out, _, _ := runLine(t, config, args...)
		if !strings.Contains(out, want) {
			t.Errorf("longshore %s: no %q in:\n%s", strings.Join(args, " "), want, out)
		}
	}
	eventually(t, "the channel is connected", func() bool {
		s, err := r.client.Status(t.Context())
		return err == nil && len(s.Channels) == 1 && s.Channels[0].Connected
	})
	says("no token lets it fetch", "why", "desk")
	token := r.token("desk", "")
	says("fetches its messages; not asked for since the host's start; none waits", "why", "desk")
	r.post("", "hello")
	byDoor{r, token}.oldest()
	says("1 not acknowledged", "status")
	says("fetches its messages; last asked for at ", "why", "desk")
	says("assistant helper lives elsewhere and fetches the messages of desk at "+strings.TrimPrefix(r.url, "http://"), "doctor")
	if b, err := os.ReadFile(config); err != nil || !bytes.Contains(b, fmt.Append(nil, fetcher)) {
		t.Error(string(b), err)
	}
}
