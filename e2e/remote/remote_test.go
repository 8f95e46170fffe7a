package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// elsewhere is a host process with a door.
type elsewhere struct {
	*desk
	layout groups.Layout
	url    string
	client *operator.Client
}

func newElsewhere(t *testing.T) *elsewhere {
	t.Helper()
	return newElsewhereFor(t, fetcher)
}

// fetcher is an assistant that fetches its messages.
const fetcher = "{runtime: remote}"

// newElsewhereFor is newElsewhere with an assistant of the group desk and with more lines, as
// the configuration has them.
func newElsewhereFor(t *testing.T, assistant string, more ...string) *elsewhere {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := pushtest.Secret()
	r := &elsewhere{desk: &desk{t: t, dir: dir, receiver: pushtest.New(t, secret, "push:desk", "push:quay")}, layout: groups.Layout{State: filepath.Join(dir, "state")}}
	door, push := stage.FreeAddress(t), stage.FreeAddress(t)
	r.listen, r.url, r.client = push, "http://"+door, operator.NewClient(operator.ControlDir(r.layout))
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600),
		os.WriteFile(filepath.Join(dir, "longshore.yaml"), fmt.Appendf(nil, `state: ./state
channels: {push: {url: %q, secret_file: ./secret, listen: %q, files_from: [%q]}}
remote: {listen: %q}
limits: {rate: {per_minute: 100000, burst: 10000}, free_disk: 1MB, pending: 1}
assistants: {helper: %s}
groups: [{folder: desk, chat: "push:desk", assistant: helper}, {folder: quay, chat: "push:quay"}]
%s
`, r.receiver.URL, push, r.receiver.Origin, door, assistant, strings.Join(more, "\n")), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	r.start()
	return r
}

func (r *elsewhere) token(group, thread string) string {
	r.t.Helper()
	made, err := r.client.MakeToken(r.t.Context(), operator.TokenOrder{Group: group, Thread: thread})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Secret
}

// upload sends a form; key may be empty.
func (r *elsewhere) upload(token, key, name, content, caption string) (ipc.Result, int) {
	r.t.Helper()
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	_ = m.WriteField("caption", caption)
	part, _ := m.CreateFormFile("file", name)
	_, _ = io.WriteString(part, content)
	_ = m.Close()
	return r.ask("POST", "/api/send-media", token, key, &form, m.FormDataContentType())
}

// get makes a call that succeeds, and reads its answer into v unless that is nil.
func (r *elsewhere) get(method, path, token string, body io.Reader, v any) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		r.t.Fatal(method, path, res.StatusCode, string(b), err)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(b, v); err != nil {
		r.t.Fatal(err)
	}
}

func (r *elsewhere) ask(method, path, token, key string, body io.Reader, kind string) (result ipc.Result, status int) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", kind)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	req.Close = true // the host may be another one by the next call
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = json.Unmarshal(b, &result)
	return result, res.StatusCode
}

// TestAFileFromElsewhereIsOnceInItsChat: byte for byte, in the token's thread, and once,
// although its host is killed and the call is made again with another token.
func TestAFileFromElsewhereIsOnceInItsChat(t *testing.T) {
	r := newElsewhere(t)
	token := r.token("desk", "t1")
	content := strings.Repeat("ship ", 100_000)
	first, status := r.upload(token, "k", "ship.txt", content, "look")
	if status != http.StatusOK || first.Status != ipc.Sent || first.Channel != "push" {
		t.Fatalf("%d %+v", status, first)
	}
	shown := r.receiver.Shown(t, "push:desk", 1)[0]
	if len(shown.Files) != 1 || shown.Thread != "t1" || shown.Files[0].SHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte(content))) || shown.Files[0].Name != "ship.txt" {
		t.Errorf("%+v", shown)
	}
	r.kill()
	r.start()
	if again, status := r.upload(r.token("desk", "t1"), "k", "ship.txt", content, "look"); status != http.StatusOK || again.ID != first.ID {
		t.Errorf("%d %+v", status, again)
	}
	if _, status := r.upload(token, "k", "ship.txt", content, "other"); status != http.StatusConflict {
		t.Error("the same key with another caption:", status)
	}
	if _, status := r.upload(r.token("quay", ""), "", "quay.txt", "quay", ""); status != http.StatusOK {
		t.Error(status)
	}
	if n := len(r.receiver.Shown(t, "push:desk", 1)); n != 1 {
		t.Errorf("%d messages in the chat", n)
	}
}

// TestTheDoorHasTheRoadsRules: a secret is screened, another's chat refused, a revoked token
// lets nobody in.
func TestTheDoorHasTheRoadsRules(t *testing.T) {
	r := newElsewhere(t)
	token := r.token("desk", "")
	if got, status := r.upload(token, "", ".env", "PASSWORD=1", ""); status != http.StatusUnprocessableEntity || got.Code != "screened" {
		t.Errorf("%d %+v", status, got)
	}
	body := `{"buffer":"aGVsbG8=","file_name":"a.txt","chat":"push:quay"}`
	if got, status := r.ask("POST", "/api/send-media", token, "", strings.NewReader(body), "application/json"); status != http.StatusUnprocessableEntity || got.Code != groups.CodeChatNotAllowed {
		t.Errorf("%d %+v", status, got)
	}
	all, err := r.client.Tokens(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if err := r.client.RevokeToken(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, status := r.upload(token, "", "a.txt", "a", ""); status != http.StatusUnauthorized {
		t.Error("revoked:", status)
	}
	if n := len(r.receiver.Shown(t, "push:quay", 0)); n != 0 {
		t.Errorf("%d messages in another's chat", n)
	}
}

// TestWithoutADoorThereIsNone says how one is opened.
func TestWithoutADoorThereIsNone(t *testing.T) {
	local := operator.NewLocal(operator.Options{Running: &operator.Running{}})
	_, err := local.Tokens(t.Context())
	if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), "lets no assistants in") {
		t.Errorf("%v", err)
	}
	if code := operator.CodeRemoteOff; code != "remote_off" {
		t.Error(code)
	}
}
