//go:build e2e

package web_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/internal/browsertest"
)

// serveInChild starts such a host; kill ends it without a warning.
func serveInChild(t *testing.T, dir, listen string) (url string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir+"|"+listen)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	kill = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), kill
}

func TestTheHostIsKilledWhileThePageUploads(t *testing.T) {
	dir := t.TempDir()
	url, kill := serveInChild(t, dir, "127.0.0.1:0")
	at := files(t, map[string][]byte{"film.bin": bytes.Repeat([]byte("film"), 1<<19)})
	p := browsertest.Start(t).Open(url+"c/family", desk)
	p.Wait(`document.getElementById("state").textContent === "with Andy"`)
	p.Choose(at("film.bin"))
	p.Do("Network.enable", nil)
	p.Do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000})
	p.Eval(`document.getElementById("text").focus()`, nil)
	p.Write("a film")
	submit(p)
	p.Wait(`document.querySelector("#pending progress")?.value > 100000`)
	kill()
	p.Wait(`document.querySelector("#pending .waits .trouble")?.textContent.includes("sent by itself")`)
	fits(t, p)
	p.Shot("killed.png")
	p.Do("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})
	_, _ = serveInChild(t, dir, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	p.Wait(ownTexts + ` === "a film" && !document.querySelector("#pending li")`)
	res, err := http.Get(url + "api/chats/family/messages")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct{ Messages []history.Message }
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil || len(got.Messages) != 1 || got.Messages[0].File.Size != 4<<19 {
		t.Errorf("the chat has %+v, %v", got.Messages, err)
	}
}
