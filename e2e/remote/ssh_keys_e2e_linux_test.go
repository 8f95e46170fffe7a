//go:build e2e

package remote

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/ssh/sshtest"
)

// TestKeyStaysAtHomeOverSSH has an assistant on another machine use the model, and then
// searches every process of the connection there and the account's files for the key. The
// same search finds the key with keys: inside. Without the key "keys" it stays at home.
func TestKeyStaysAtHomeOverSSH(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"", ", keys: proxy", ", keys: inside"} {
		t.Run(strings.TrimPrefix(keys, ", "), func(t *testing.T) {
			canary := "sk-canary-" + rand.Text()
			keyFile := filepath.Join(t.TempDir(), "key")
			sshtest.Write(t, keyFile, canary)
			model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "the model's words"} })
			script := strings.Replace(stage.AskModel, "cat >/dev/null;", `cat >/dev/null; printf %s "$ANTHROPIC_BASE_URL" >url; printf %s "$ANTHROPIC_API_KEY" >pass;`, 1)
			o := newOverSSH(t, fmt.Sprintf(", agent: command, command: [bash, -c, %q], env: {ANTHROPIC_BASE_URL: %q}, env_from_file: {ANTHROPIC_API_KEY: %q}%s", script, model.URL, keyFile, keys))
			o.post("", "hello")
			stage.Eventually(t, "the answer is in the chat", func() bool { return strings.Contains(o.texts(), "the model's words") })

			forms := stage.FormsOf(canary)
			processes := stage.Below(t, o.machine.Sshd.Process.Pid)
			if len(processes) < 3 { // sshd's own of the connection, and agentrunner's two
				t.Fatalf("the machine has the processes %v", processes)
			}
			found := stage.SearchFiles(t, o.machine.Home, forms)
			for _, pid := range processes {
				found = append(found, stage.SearchProcess(t, pid, forms)...)
			}
			if strings.Contains(keys, "inside") {
				if !strings.Contains(strings.Join(found, " "), "memory") {
					t.Errorf("the search found the key in %q only, so it would miss it", found)
				}
				return
			}
			if len(found) > 0 {
				t.Errorf("the key is in %q", found)
			}
			o.onlyWithItsPass()
		})
	}
}

// onlyWithItsPass calls the model from the machine as another user's program there would,
// without what the assistant has for a key, and with it.
func (o *overSSH) onlyWithItsPass() {
	o.t.Helper()
	of := func(name string) string {
		text, err := os.ReadFile(filepath.Join(o.machine.Home, "longshore/desk", name))
		if err != nil {
			o.t.Fatal(err)
		}
		return string(text)
	}
	for pass, want := range map[string]int{"": 401, "the-host-keeps-the-key": 401, of("pass") + "x": 401, of("pass"): 200} {
		body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}],"tools":[{"name":"t","input_schema":{"type":"object"}}]}`
		req, err := http.NewRequestWithContext(o.t.Context(), "POST", of("url")+"/v1/messages", strings.NewReader(body))
		if err != nil {
			o.t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", pass)
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			o.t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			o.t.Errorf("with the key %q the answer is %s", pass, res.Status)
		}
	}
}
