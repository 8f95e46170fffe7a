package remote

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
)

// TestAMembersFileGoesElsewhere byte for byte, in one piece or from where a download broke
// off, also after the host was killed, and to nobody else.
func TestAMembersFileGoesElsewhere(t *testing.T) {
	r := newElsewhere(t)
	content := bytes.Repeat([]byte("rope and tar "), 100_000)
	reply := pushtest.Reply{Type: "message", Chat: "push:desk", ID: "f", From: "Ann", Text: "see", Direct: true, Files: []pushtest.ReplyFile{{URL: r.receiver.Keep("rope.txt", content), Name: "rope.txt"}}}
	stage.Eventually(t, "the host takes a message", func() bool { return r.receiver.Post(t.Context(), "http://"+r.listen+"/", reply) == nil })
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
		out, _, _ := stage.RunLine(t, config, args...)
		if !strings.Contains(out, want) {
			t.Errorf("longshore %s: no %q in:\n%s", strings.Join(args, " "), want, out)
		}
	}
	stage.Eventually(t, "the channel is connected", func() bool {
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
