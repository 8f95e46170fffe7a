//go:build e2e

package engines

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/internal/need"
)

// TestKeyStaysAtHome has an assistant use the model, and then searches its container as
// root for the key: memory, environ, cmdline, configuration, file systems, the group's
// directories and logs. The same search finds the key with keys: inside.
func TestKeyStaysAtHome(t *testing.T) {
	if os.Geteuid() != 0 {
		need.Lacking(t, "read the memory of containers: only root can")
	}
	for _, where := range []string{"proxy", "described", "inside"} {
		t.Run(where, func(t *testing.T) {
			canary := "sk-canary-" + rand.Text()
			keyFile := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(keyFile, []byte(canary), 0o600); err != nil {
				t.Fatal(err)
			}
			model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "the model's words"} })
			network, keys, ask := "none", "proxy", stage.AskModel
			service := fmt.Sprintf("env: {ANTHROPIC_BASE_URL: %q}, env_from_file: {ANTHROPIC_API_KEY: %q}", model.URL, keyFile)
			switch where {
			case "inside":
				network, keys = containertest.Network, "inside"
			case "described": // by the operator, as any other service is
				ask = strings.NewReplacer("ANTHROPIC_BASE_URL", "MINE_URL", "ANTHROPIC_API_KEY", "MINE_KEY").Replace(stage.AskModel)
				service = fmt.Sprintf("env_from_file: {MINE_KEY: %q}, providers: {mine: {url: %q, key_variable: MINE_KEY, address_variable: MINE_URL, header: X-Mine, scheme: Key, form: anthropic, calls: [POST /v1/*]}}", keyFile, model.URL)
			}
			h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: command, command: [bash, -c, %q], image: %q, network: %s, keys: %s, %s}",
				ask, containertest.AgentImage(t, "none"), network, keys, service))
			stop := h.runHost(h.open())
			defer func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}()
			m := stage.Member{Base: h.base, Chat: "g0"}
			h.answeredWith(m, h.say(m, "hello"), "the model's words")
			found := h.search(canary)
			if where != "inside" && len(found) > 0 {
				t.Errorf("the key is in %q", found)
			}
			if where == "inside" && !strings.Contains(strings.Join(found, " "), "memory") {
				t.Errorf("the search found the key in %q only, so it would miss it", found)
			}
		})
	}
}

// TestEndedBudgetIsNamed has an assistant use up its group's budget: the chat, "why" and
// the metrics name it, and the message that waited is answered once the budget is raised.
func TestEndedBudgetIsNamed(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "the model's words"} })
	asks := strings.TrimSuffix(stage.AskModel, "cat <&3") + `answer=$(cat <&3); case $answer in HTTP/1.1\ 200*) echo "$answer";; *) echo refused >&2; exit 1;; esac`
	h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: command, command: [bash, -c, %q], image: %q, network: none, keys: proxy, env: {ANTHROPIC_BASE_URL: %q, ANTHROPIC_API_KEY: a-key}}",
		asks, containertest.AgentImage(t, "none"), model.URL))
	text, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	with := func(budget string) []byte {
		return bytes.Replace(text, []byte("gather:"), []byte("budget: "+budget+", gather:"), 1)
	}
	if err := os.WriteFile(h.file, with("{tokens: 150}"), 0o600); err != nil {
		t.Fatal(err)
	}
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.answeredWith(m, h.say(m, "hello"), "the model's words")
	asked := h.say(m, "hello again") // of the 150 tokens, 107 are used
	h.answeredWith(m, asked, "The budget of this chat's assistant is used up. Your message is kept for 24 hours and answered when the budget begins anew, or the operator raises it.")
	said := func(args ...string) string {
		cmd := exec.Command(os.Args[0], append(args, "-c", h.file)...)
		cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+h.engine)
		out, _ := cmd.CombinedOutput() // "why" fails, as it is to
		return string(out)
	}
	if out := said("why", "g0"); !strings.Contains(out, "no  assistant") || !strings.Contains(out, "150 tokens a day; 107 tokens") || !strings.Contains(out, "raise it in") {
		t.Errorf("why says:\n%s", out)
	}
	if out := said("status", "--json"); !strings.Contains(out, `"cause": "budget_spent"`) || !strings.Contains(out, `"budget_tokens_spent": 107`) {
		t.Errorf("status says:\n%s", out)
	}
	if err := os.WriteFile(h.file, with("{tokens: 1500}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := said("reload"); !strings.Contains(out, "group g0 changed: budget") {
		t.Errorf("reload says:\n%s", out)
	}
	h.answeredWith(m, asked, "the model's words")
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
}

// TestCallOfAKilledHostCounts kills the host with -9 while the model has a call of a
// container: the next host counts the call's whole reservation.
func TestCallOfAKilledHostCounts(t *testing.T) {
	model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Hang: true} })
	h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: command, command: [bash, -c, %q], image: %q, network: none, keys: proxy, env: {ANTHROPIC_BASE_URL: %q, ANTHROPIC_API_KEY: a-key}}",
		strings.Replace(stage.AskModel, `"max_tokens":9`, `"max_tokens":700`, 1), containertest.AgentImage(t, "none"), model.URL))
	text, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.file, bytes.Replace(text, []byte("limits: {"), []byte("limits: {budget: {tokens: 1000}, "), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	serving, log := h.serve()
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.say(m, "hello")
	h.until("the model's call", func() bool { return len(model.Requests()) > 0 })
	if err := serving.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serving.Wait()
	serving, log = h.serve()
	spent := regexp.MustCompile(`"budget_tokens_spent": 7[0-9][0-9],`)
	h.until("the reservation", func() bool {
		cmd := exec.Command(os.Args[0], "status", "--json", "-c", h.file)
		cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "DOCKER_HOST="+h.engine)
		out, _ := cmd.CombinedOutput() // until the host is there, it says that
		return spent.Match(out)
	})
	if err := serving.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := serving.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, log)
	}
}

// until waits until it is so.
func (h *boxes) until(what string, is func() bool) {
	h.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(stage.Patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			h.Fatalf("%s did not come", what)
		}
	}
}

// TestRealAgentsNameAnEndedBudget: whatever words a CLI has for it, the chat hears of the
// budget, and the service of no call.
func TestRealAgentsNameAnEndedBudget(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			model := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "the model's words"} })
			env := []string{"LONGSHORE_MODEL: gemini-2.5-flash"}
			for _, v := range model.Env() {
				name, value, _ := strings.Cut(v, "=")
				env = append(env, fmt.Sprintf("%s: %q", name, value))
			}
			h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: %s, image: %q, network: none, keys: proxy, env: {%s}}",
				agent, containertest.AgentImage(t, agent), strings.Join(env, ", ")))
			text, err := os.ReadFile(h.file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.Replace(text, []byte("limits: {"), []byte("limits: {notice_after: 20s, budget: {tokens: 500}, "), 1)
			if err := os.WriteFile(h.file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			serving, _ := h.serve()
			m := stage.Member{Base: h.base, Chat: "g0"}
			begin := time.Now()
			h.answeredWith(m, h.say(m, "hello"), "The budget of this chat's assistant is used up")
			t.Logf("the chat heard of it after %s", time.Since(begin).Round(time.Second))
			for _, r := range model.Requests() {
				t.Errorf("the service got a call of %d bytes", len(r.Body))
			}
			if err := serving.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if err := serving.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRealAgentsReachTheModelThroughTheHost has real agent CLIs without a network and
// without a key call the model, which gets the real key.
func TestRealAgentsReachTheModelThroughTheHost(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "gemini", "opencode"} {
		t.Run(agent, func(t *testing.T) {
			image := containertest.AgentImage(t, agent)
			model := modeltest.New(t, modeltest.SendFile("/workspace/group/tides.csv", "Here is the tide table."))
			env := []string{"LONGSHORE_MODEL: gemini-2.5-flash"}
			for _, v := range model.Env() {
				name, value, _ := strings.Cut(v, "=")
				env = append(env, fmt.Sprintf("%s: %q", name, value))
			}
			h := newBoxesOf(t, 1, fmt.Sprintf("{runtime: docker, agent: %s, image: %q, network: none, keys: proxy, env: {%s}}", agent, image, strings.Join(env, ", ")))
			opened := h.open()
			stop := h.runHost(opened)
			defer func() {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}()
			if err := os.WriteFile(filepath.Join(opened.Layout.Workspace("g0"), "tides.csv"), []byte("06:12,4.1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			m := stage.Member{Base: h.base, Chat: "g0"}
			h.answeredWith(m, h.say(m, "the tide table, please"), "Here is the tide table.")
			if n := len(model.Requests()); n == 0 {
				t.Error("the model was not asked")
			}
			if t.Failed() {
				log, _ := os.ReadFile(filepath.Join(opened.Layout.Logs(), "g0", "assistant.log"))
				t.Logf("the assistant's log:\n%s", log)
			}
		})
	}
}
