package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/ipc"
)

// linking is a host process whose chats take files of a megabyte, and whose page serves
// what is larger.
type linking struct {
	*desk
	layout groups.Layout
	page   string
	client *operator.Client
}

// maker is an assistant that sends a file of two megabytes in each way that there is.
const maker = `#!/bin/sh
cat > /dev/null
make() { head -c 2097152 /dev/zero > "$1"; }
mkdir -p outbox
make "$TMPDIR/staged.bin"
$LONGSHORE agentrunner send "$TMPDIR/staged.bin" > told.txt 2>&1
make outbox/dropped.bin
make named.bin
echo done
echo "MEDIA:$PWD/named.bin"
`

const linkToken = "a token for the page 0123456789"

// newLinking has something in the entry of the page.
func newLinking(t *testing.T, web string) *linking {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret := pushtest.Secret()
	l := &linking{desk: &desk{t: t, dir: dir, receiver: pushtest.New(t, secret, "push:desk", "push:quay")}, layout: groups.Layout{State: filepath.Join(dir, "state")}}
	page, push := stage.FreeAddress(t), stage.FreeAddress(t)
	l.listen, l.page, l.client = push, "http://"+page, operator.NewClient(operator.ControlDir(l.layout))
	err = errors.Join(
		os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600),
		os.WriteFile(filepath.Join(dir, "token"), []byte(linkToken), 0o600),
		os.WriteFile(filepath.Join(dir, "longshore.yaml"), fmt.Appendf(nil, `state: ./state
channels:
  push: {url: %q, secret_file: ./secret, listen: %q, max_file: 1MiB}
  web: {listen: %q, token_file: ./token%s}
limits: {rate: {per_minute: 100000, burst: 10000}, free_disk: 1MB}
assistants: {maker: {runtime: process, agent: command, command: [%q]}}
groups: [{folder: desk, chat: "push:desk", limits: {audio: 1MiB}, assistant: maker, gather: {after: 0s}}, {folder: quay, chat: "push:quay"}]
`, l.receiver.URL, push, page, web, filepath.Join(dir, "maker.sh")), 0o644),
		os.WriteFile(filepath.Join(dir, "maker.sh"), []byte(strings.ReplaceAll(maker, "$LONGSHORE", os.Args[0])), 0o755))
	if err != nil {
		t.Fatal(err)
	}
	l.start()
	return l
}

// file makes a file of that size in a group's workspace, and returns its hash.
func (l *linking) file(folder, name string, size int64) string {
	l.t.Helper()
	f, err := os.Create(filepath.Join(l.layout.Workspace(folder), name))
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	block := make([]byte, 1<<20)
	for at := int64(0); at < size && err == nil; at += int64(len(block)) {
		copy(block, strconv.FormatInt(at, 16))
		_, err = io.MultiWriter(f, h).Write(block[:min(int64(len(block)), size-at)])
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (l *linking) send(folder string, f ipc.FileRef) ipc.Result {
	l.t.Helper()
	f.Path = "/workspace/group/" + f.Path
	return stage.AskHost(l.t, l.layout, folder, ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{f}})
}

var linkForm = regexp.MustCompile(`https://files\.example\.org/away/(links/[0-9a-f]+)`)

// address is where the host itself serves the link in the last message of a chat.
func (l *linking) address(chat string, n int) string {
	l.t.Helper()
	text := l.receiver.Shown(l.t, chat, n)[n-1].Text
	found := linkForm.FindStringSubmatch(text)
	if found == nil {
		l.t.Fatalf("no link in %q", text)
	}
	return l.page + "/" + found[1]
}

func (l *linking) get(method, url string, header ...string) (*http.Response, []byte) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, url, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	req.Host = "files.example.org"
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatal(err)
	}
	return resp, body
}

const offered = `, public_url: "https://files.example.org/away/", link_quota: 150MiB, link_size: 120MiB`

// TestAFileTooLargeForTheChatGoesAsALink: it was refused, and members had to be sent it by
// other means. Whoever has the link gets the file, over a kill and until it is revoked.
func TestAFileTooLargeForTheChatGoesAsALink(t *testing.T) {
	l := newLinking(t, offered)
	const size = 100_000_000
	sum := l.file("desk", "big.bin", size)
	before := l.peak()
	got := l.send("desk", ipc.FileRef{Path: "big.bin", Name: "Höhe; \"x\" `1`.bin", Caption: "as you *asked*"})
	if got.Status != ipc.Sent || len(got.Parts) != 1 || got.Parts[0].Kind != "link" || got.Parts[0].Size != size || got.Parts[0].SHA256 != sum ||
		!strings.Contains(got.Parts[0].Note, "goes as a link") || !strings.Contains(got.Parts[0].Note, "until") {
		t.Fatalf("%+v", got)
	}
	shown := l.receiver.Shown(t, "push:desk", 1)[0]
	if len(shown.Files) != 0 || !strings.Contains(shown.Text, "as you") || !strings.Contains(shown.Text, "(95 MiB)") {
		t.Errorf("the chat sees %+v", shown)
	}
	address := l.address("push:desk", 1)
	resp, body := l.get(http.MethodGet, address)
	if had := sha256.Sum256(body); resp.StatusCode != http.StatusOK || hex.EncodeToString(had[:]) != sum {
		t.Fatalf("%s, %d bytes", resp.Status, len(body))
	}
	if now := l.peak(); now-before > 64<<20 {
		t.Errorf("the host took %d MiB of memory more", (now-before)>>20)
	}
	l.wantHarmless(resp, "Höhe; _x_ `1`.bin")
	resp, body = l.get(http.MethodGet, address, "Range", "bytes=1048576-1048580")
	if resp.StatusCode != http.StatusPartialContent || string(body) != "10000" {
		t.Errorf("a range: %s, %q", resp.Status, body)
	}
	l.kill()
	l.start()
	if resp, _ := l.get(http.MethodHead, address, "Sec-Fetch-Site", "cross-site"); resp.StatusCode != http.StatusOK || resp.ContentLength != size {
		t.Errorf("after a kill, from another site: %s, %d", resp.Status, resp.ContentLength)
	}
	l.wantRevoked(address)
}

// wantHarmless: nothing in the file can run, and its name writes no header.
func (l *linking) wantHarmless(resp *http.Response, name string) {
	l.t.Helper()
	for key, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Referrer-Policy": "no-referrer",
		"Content-Type": "application/octet-stream", "Set-Cookie": "", "Cache-Control": "no-store",
	} {
		if got := resp.Header.Get(key); got != want {
			l.t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	kind, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
	if err != nil || kind != "attachment" || params["filename"] != name || len(params) != 1 {
		l.t.Errorf("%q: %v", resp.Header.Get("Content-Disposition"), err)
	}
}

// wantRevoked revokes the only link. What is no link any more, and what never was, is
// answered alike; the file is gone.
func (l *linking) wantRevoked(address string) {
	l.t.Helper()
	all, err := l.client.Links(l.t.Context(), "desk")
	if others, failed := l.client.Links(l.t.Context(), "quay"); err != nil || failed != nil || len(all) != 1 || len(others) != 0 {
		l.t.Fatalf("%+v, %v; another group's %+v, %v", all, err, others, failed)
	}
	out, code := l.command("links", "list", "--group", "desk")
	if code != stage.ExitOK || !strings.Contains(out, all[0].ID) || !strings.Contains(out, "95 MiB") || strings.Contains(out, address[strings.LastIndex(address, "/")+1:]) {
		l.t.Errorf("%d:\n%s", code, out)
	}
	if out, code := l.command("links", "revoke", all[0].ID); code != stage.ExitOK || !strings.Contains(out, "revoked") {
		l.t.Fatalf("%d: %s", code, out)
	}
	end := address[len(address)-1:]
	forged := address[:len(address)-1] + map[bool]string{true: "1", false: "0"}[end == "0"]
	answers := map[string]bool{}
	for _, url := range []string{address, forged, l.page + "/links/", l.page + "/links/../links/x", address + "0", l.page + "/links/" + all[0].ID} {
		resp, body := l.get(http.MethodGet, url)
		if resp.StatusCode != http.StatusNotFound {
			l.t.Errorf("%s: %s", url, resp.Status)
		}
		answers[string(body)] = true
	}
	if len(answers) != 1 {
		l.t.Errorf("answers differ: %v", answers)
	}
	if left, err := filepath.Glob(filepath.Join(l.layout.Outbox(), "files", "[0-9a-f]*")); err != nil || len(left) != 0 {
		l.t.Errorf("left: %v, %v", left, err)
	}
	if out, code := l.command("links", "revoke", all[0].ID); code == stage.ExitOK || !strings.Contains(out, " links list\n") {
		l.t.Errorf("revoked twice: %d: %s", code, out)
	}
}

// command runs a command of the operator's.
func (l *linking) command(args ...string) (out string, code int) {
	var b bytes.Buffer
	code = longshore.Run(l.t.Context(), "", stage.AllPlatforms(), append([]string{"-c", filepath.Join(l.dir, "longshore.yaml")}, args...), strings.NewReader(""), &b, &b)
	return b.String(), code
}

// peak is the most memory that the host has had, in bytes; 0 if the system does not say.
func (l *linking) peak() int64 {
	l.t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.host.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(text)
	kb, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		l.t.Fatal(err)
	}
	return kb << 10
}

// TestALinkHasItsOwnLimits: what a link may not have is refused as before, with the reason,
// and one group's links take no room from another's.
func TestALinkHasItsOwnLimits(t *testing.T) {
	l := newLinking(t, offered)
	l.file("desk", "first.bin", 90<<20)
	l.file("desk", "second.bin", 90<<20)
	l.file("desk", "huge.bin", 121<<20)
	l.file("desk", "small.bin", 1000)
	l.file("quay", "other.bin", 90<<20)
	if got := l.send("desk", ipc.FileRef{Path: "first.bin"}); got.Status != ipc.Sent {
		t.Fatalf("%+v", got)
	}
	if got := l.send("desk", ipc.FileRef{Path: "second.bin"}); got.Code != "links_full" || !strings.Contains(got.Hint, "longshore links") {
		t.Errorf("over the quota: %+v", got)
	}
	if got := l.send("desk", ipc.FileRef{Path: "huge.bin"}); got.Code != "file_too_large" {
		t.Errorf("larger than a link may be: %+v", got)
	}
	if got := l.send("desk", ipc.FileRef{Path: "small.bin"}); got.Status != ipc.Sent || got.Parts[0].Kind != "document" {
		t.Errorf("a small file: %+v", got)
	}
	if got := l.send("quay", ipc.FileRef{Path: "other.bin"}); got.Status != ipc.Sent || got.Parts[0].Kind != "link" {
		t.Errorf("another group: %+v", got)
	}
	sound := append([]byte("RIFF\x00\x00\x20\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x20\x00"), make([]byte, 2<<20)...)
	for folder, code := range map[string]string{"desk": "file_too_large", "quay": ""} {
		if err := os.WriteFile(filepath.Join(l.layout.Workspace(folder), "sound.wav"), sound, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := l.send(folder, ipc.FileRef{Path: "sound.wav"}); got.Code != code {
			t.Errorf("a sound of %s, whose limit is the group's own: %+v", folder, got)
		}
	}
	c := l.context("desk")
	if c.Links == nil || c.Links.MaxBytes != 120<<20 || c.Links.Seconds != 7*24*3600 || c.Limits["document"] != 1<<20 {
		t.Errorf("the tools are told %+v", c)
	}
}

// TestEveryWayOfSendingMakesALink: the tool with a copy, the drop directory and a directive
// take one road. What the tool says is what happened.
func TestEveryWayOfSendingMakesALink(t *testing.T) {
	l := newLinking(t, offered)
	l.post("", "make them")
	want := map[string]bool{"staged.bin": true, "dropped.bin": true, "named.bin": true}
	stage.Eventually(t, "three links are in the chat", func() bool {
		for _, m := range l.receiver.Shown(t, "push:desk", 0) {
			for name := range want {
				if found := linkForm.FindStringSubmatch(m.Text); found != nil && strings.Contains(m.Text, name) {
					if resp, body := l.get(http.MethodGet, l.page+"/"+found[1]); resp.StatusCode != http.StatusOK || len(body) != 2<<20 {
						t.Errorf("%s: %s, %d bytes", name, resp.Status, len(body))
					}
					delete(want, name)
				}
			}
		}
		return len(want) == 0
	})
	if told, err := os.ReadFile(filepath.Join(l.layout.Workspace("desk"), "told.txt")); err != nil || !strings.Contains(string(told), "goes as a link") {
		t.Errorf("the tool says %q, %v", told, err)
	}
}

// TestALinkRestsWhileNoneAreOffered, and is there again with the same address.
func TestALinkRestsWhileNoneAreOffered(t *testing.T) {
	l := newLinking(t, offered)
	l.file("quay", "big.bin", 2<<20)
	if got := l.send("quay", ipc.FileRef{Path: "big.bin"}); got.Status != ipc.Sent {
		t.Fatalf("%+v", got)
	}
	address := l.address("push:quay", 1)
	file := filepath.Join(l.dir, "longshore.yaml")
	with, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		text string
		want int
	}{{strings.Replace(string(with), offered, "", 1), http.StatusNotFound}, {string(with), http.StatusOK}} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := l.client.Reload(t.Context(), false); err != nil || len(r.Problems) > 0 {
			t.Fatalf("not reloaded: %+v, %v", r, err)
		}
		if resp, _ := l.get(http.MethodGet, address); resp.StatusCode != tt.want {
			t.Errorf("%s, want %d", resp.Status, tt.want)
		}
		stage.Eventually(t, "the tools are told", func() bool { return (l.context("quay").Links != nil) == (tt.want == http.StatusOK) })
	}
	if resp, _ := l.get(http.MethodGet, l.page+"/c/anything"); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("the page under the name of the links: %s", resp.Status)
	}
}

// TestLinksAreNotOfferedWithoutAnAddress leaves everything as it was.
func TestLinksAreNotOfferedWithoutAnAddress(t *testing.T) {
	l := newLinking(t, "")
	l.file("desk", "big.bin", 2<<20)
	if got := l.send("desk", ipc.FileRef{Path: "big.bin"}); got.Code != "file_too_large" {
		t.Errorf("%+v", got)
	}
	if c := l.context("desk"); c.Links != nil {
		t.Errorf("the tools are told of %+v", c.Links)
	}
	if resp, _ := l.get(http.MethodGet, l.page+"/links/"+strings.Repeat("0", 80)); resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

func (l *linking) context(folder string) (c ipc.Context) {
	l.t.Helper()
	stage.Eventually(l.t, "the tools are told", func() bool {
		b, err := os.ReadFile(filepath.Join(l.layout.IPC(folder, "context"), "context.json"))
		return err == nil && json.Unmarshal(b, &c) == nil
	})
	return c
}
