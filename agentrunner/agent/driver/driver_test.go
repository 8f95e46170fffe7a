package driver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/agent/driver"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// listsTools leaves the mark that a CLI's list of the tools does, wherever the script got
// the directory.
const listsTools = `marks=$(printf '%s ' "$@" "$OPENCODE_CONFIG_CONTENT" "$LONGSHORE_TOOLS_CHECK" | grep -o '[^"= ]*/longshore-tools-[0-9]*' | head -n 1)
: >"$marks/listed" || exit 9
`

// pretend is a shell script in a CLI's place, which lists the tools first.
func pretend(t *testing.T, cli, script string) (d *driver.Driver, dir string, log *bytes.Buffer) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "work")
	program := filepath.Join(root, "cli")
	if err := errors.Join(os.Mkdir(dir, 0o755), fstest.WriteProgram(program, "#!/bin/sh\n"+listsTools+script)); err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	d, err := driver.New(cli, driver.Options{Program: program, Tools: []string{"/bin/agentrunner", "mcp"},
		Home: filepath.Join(root, "home"), Dir: dir, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return d, dir, log
}

// TestEventsAreRead has each CLI say what the real one was seen to say.
func TestEventsAreRead(t *testing.T) {
	for name, test := range map[string]struct{ cli, events, text, session, log string }{
		"claude": {"claude", `{"type":"system","subtype":"init","session_id":"s"}
{"type":"assistant","message":{"content":[{"type":"text","text":"I will look."}]},"session_id":"s"}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s2","total_cost_usd":0.25,"usage":{"input_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":3,"output_tokens":2}}`,
			"Done.", "s2", "input_tokens=28 cached_tokens=20 output_tokens=2 cost_usd=0.25"},
		"codex": {"codex", `{"type":"thread.started","thread_id":"s"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"I will look."}}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":4,"output_tokens":2}}`,
			"Done.", "s", "input_tokens=5 cached_tokens=4 output_tokens=2"},
		"trouble": {"codex", `{"type":"error","message":"Reconnecting... 1/5"}
{"type":"turn.completed"}`, "", "", `level=WARN msg="agent has trouble" agent=codex reason="Reconnecting... 1/5"`},
		"gemini": {"gemini", `{"type":"init","session_id":"s"}
{"type":"message","role":"user","content":"hi"}
{"type":"message","role":"assistant","content":"I will look.","delta":true}
{"type":"tool_use","tool_name":"read_file"}
{"type":"message","role":"assistant","content":"Do","delta":true}
{"type":"message","role":"assistant","content":"ne.","delta":true}
{"type":"result","status":"success","stats":{"input_tokens":5,"output_tokens":2,"cached":1}}`,
			"Done.", "s", "input_tokens=5 cached_tokens=1 output_tokens=2"},
		"opencode": {"opencode", `{"type":"text","sessionID":"s","part":{"messageID":"m1","text":"I will look."}}
{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","cost":0.5,"tokens":{"input":5,"output":2,"cache":{"read":1}}}}
{"type":"text","sessionID":"s","part":{"messageID":"m2","text":"Done."}}
{"type":"step_finish","sessionID":"s","part":{"reason":"stop","cost":0.25,"tokens":{"input":5,"output":2,"cache":{"read":1}}}}`,
			"Done.", "s", "input_tokens=12 cached_tokens=2 output_tokens=4 cost_usd=0.75"},
		"foreign lines": {"codex", "warning: no colours\n{broken\n[1]\nnull\n" + `{"type":"turn.completed"}`, "", "before", "input_tokens=0"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, log := pretend(t, test.cli, "cat <<'EOF'\n"+test.events+"\nEOF\n")
			session := ""
			if name == "foreign lines" {
				session = "before"
			}
			reply, err := d.Turn(t.Context(), agent.Turn{Session: session})
			if diff := cmp.Diff(agent.Reply{Text: test.text, Session: test.session}, reply); diff != "" || err != nil {
				t.Errorf("reply (-want +got):\n%s%v", diff, err)
			}
			if !strings.Contains(log.String(), test.log) {
				t.Errorf("the operator is told %s", log)
			}
		})
	}
}

func TestUsageOfATurnLeavesTheEarlierOnesOut(t *testing.T) {
	d, dir, log := pretend(t, "claude", `n=$(cat n); echo "{\"type\":\"result\",\"session_id\":\"s\",\"result\":\"x\",\"total_cost_usd\":$n,\"usage\":{\"input_tokens\":9}}"`)
	for _, turn := range []struct {
		session, total, want string
		cost                 float64 // that the host is told
	}{
		{"s", "0.5", `input_tokens=9 cached_tokens=0 output_tokens=0 cost_usd=0.5 since="the session began"`, 0}, // of an earlier run
		{"s", "0.8", "input_tokens=9 cached_tokens=0 output_tokens=0 cost_usd=0.3\n", 0.3},
		{"", "0.1", "cost_usd=0.1\n", 0.1},
		{"s", "0.3", "cost_usd=0.2\n", 0.2},
	} {
		if err := os.WriteFile(filepath.Join(dir, "n"), []byte(turn.total), 0o644); err != nil {
			t.Fatal(err)
		}
		log.Reset()
		var used agent.Usage
		if _, err := d.Turn(t.Context(), agent.Turn{Session: turn.session, Used: func(u agent.Usage) { used = u }}); err != nil || !strings.Contains(log.String(), turn.want) {
			t.Errorf("told %s, want %s (%v)", log, turn.want, err)
		}
		if want := (agent.Usage{Input: 9, Cost: turn.cost}); used != want {
			t.Errorf("the host is told %+v, want %+v", used, want)
		}
	}
}

func TestFailuresAreToldInWordsThatFitOneLine(t *testing.T) {
	for name, test := range map[string]struct{ cli, script, want string }{
		"status and stderr":  {"claude", `echo 'Error: no key' >&2; echo 'see the manual' >&2; exit 3`, `run claude: exit status 3: "Error: no key"`},
		"nothing at all":     {"codex", `:`, "codex ended without an answer"},
		"claude's own error": {"claude", `echo '{"type":"result","is_error":true,"result":"API Error: 500"}'; exit 1`, "claude: API Error: 500"},
		"claude's kind only": {"claude", `echo '{"type":"result","is_error":true,"subtype":"error_max_turns"}'`, "claude: error_max_turns"},
		"wrapped": {"codex", `cat <<'EOF'
{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"quota\\nis used up\"}}"}}
EOF`, "codex: quota is used up"},
		"gemini that broke off": {"gemini", `echo '{"type":"error","message":"Loop detected"}'; echo '{"type":"result","status":"success"}'`, "gemini: Loop detected"},
		"a key that is not taken": {"claude", `echo '{"type":"system","subtype":"api_retry","attempt":2,"error_status":401}'; exec sleep 600`,
			"claude: the model rejects the key (status 401)"},
		"gemini": {"gemini", `echo '{"type":"result","status":"error","error":{"message":"[API Error: {\"error\":{\"message\":\"quota\"}}]"}}'`, "gemini: quota"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := pretend(t, test.cli, test.script)
			if _, err := d.Turn(t.Context(), agent.Turn{}); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	var log bytes.Buffer
	d, err := driver.New("claude", driver.Options{Program: "/no/such/claude", Tools: []string{"x"}, Home: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Turn(t.Context(), agent.Turn{}); err == nil || !strings.Contains(err.Error(), "is not installed here") || log.Len() > 0 {
		t.Errorf("missing program: %v, and the operator is told %s", err, &log)
	}
}

func TestPromptGoesByStdinAndNeverByTheCommandLine(t *testing.T) {
	for _, cli := range driver.Names() {
		d, dir, _ := pretend(t, cli, `printf '%s\n' "$@" >args; head -n 1 >prompt; pwd >pwd; echo "$PWD" >>pwd`)
		prompt := "--dangerously-skip-permissions /etc/passwd " + strings.Repeat("x", 300_000)
		_, _ = d.Turn(t.Context(), agent.Turn{Prompt: prompt, Env: []string{"LONGSHORE_RIGHTS=workspace", "ANTHROPIC_API_KEY=secret-1", "OPENAI_API_KEY=secret-2"}})
		args, got := read(t, dir, "args"), read(t, dir, "prompt")
		var line struct{ Message struct{ Content string } } // Claude Code's, which listens on
		if json.Unmarshal([]byte(got), &line) == nil {
			got = line.Message.Content
		}
		if got != prompt {
			t.Errorf("%s: %d bytes of the prompt arrive", cli, len(got))
		}
		for _, bad := range []string{"skip-permissions", "yolo", "danger-full-access", "secret-"} {
			if strings.Contains(args, bad) {
				t.Errorf("%s: %q in its arguments %s", cli, bad, args)
			}
		}
		if pwd := strings.Fields(read(t, dir, "pwd")); pwd[0] != pwd[1] {
			t.Errorf("%s: it is in %q and believes to be in %q", cli, pwd[0], pwd[1])
		}
	}
}

func TestRightsFollowTheRuntime(t *testing.T) {
	for name, test := range map[string]struct {
		env  []string
		want map[string]string
	}{
		"in a container": {nil, map[string]string{"claude": "--dangerously-skip-permissions", "codex": `sandbox_mode="danger-full-access"`, "gemini": "yolo"}},
		"without one":    {[]string{`LONGSHORE_MOUNTS=[]`}, map[string]string{"claude": "acceptEdits", "codex": `sandbox_mode="workspace-write"`, "gemini": "auto_edit"}},
		"by the operator": {[]string{`LONGSHORE_MOUNTS=[]`, "LONGSHORE_RIGHTS=full"},
			map[string]string{"claude": "--dangerously-skip-permissions", "codex": `sandbox_mode="danger-full-access"`, "gemini": "yolo"}},
	} {
		for cli, want := range test.want {
			d, dir, _ := pretend(t, cli, `printf '%s\n' "$@" >args`)
			_, _ = d.Turn(t.Context(), agent.Turn{Env: test.env})
			if args := strings.Split(read(t, dir, "args"), "\n"); !slices.Contains(args, want) {
				t.Errorf("%s, %s: no %q in %q", name, cli, want, args)
			}
		}
	}
	d, _, _ := pretend(t, "claude", "")
	if _, err := d.Turn(t.Context(), agent.Turn{Env: []string{"LONGSHORE_RIGHTS=all"}}); err == nil || !strings.Contains(err.Error(), "neither workspace nor full") {
		t.Errorf("got %v", err)
	}
}

func TestFloodNeitherStopsNorFillsAnything(t *testing.T) {
	d, _, _ := pretend(t, "claude", `head -c 20000000 /dev/zero | tr '\0' x; echo; head -c 3000000 /dev/zero | tr '\0' x >&2
echo '{"type":"result","result":"Done.","session_id":"s"}'`)
	reply, err := d.Turn(t.Context(), agent.Turn{})
	if err != nil || reply.Text != "Done." {
		t.Errorf("reply of %d bytes, error %v", len(reply.Text), err)
	}
}

func TestWhatATurnLeavesBehindEndsWithIt(t *testing.T) {
	t.Parallel() // it waits for seconds
	mark := "LONGSHORE_SESSION=stray-" + t.TempDir()
	d, _, _ := pretend(t, "claude", `sleep 600 & echo '{"type":"result","result":"Done.","session_id":"s"}'`)
	reply, err := d.Turn(t.Context(), agent.Turn{Env: []string{mark}})
	if err != nil || reply.Text != "Done." {
		t.Errorf("reply %+v, error %v", reply, err)
	}
	gone(t, mark)
}

func TestProgramThatIgnoresSIGTERMIsKilled(t *testing.T) {
	t.Parallel() // it waits for seconds
	mark := "LONGSHORE_SESSION=deaf-" + t.TempDir()
	d, dir, _ := pretend(t, "codex", `trap '' TERM; mkfifo fifo; echo >started; while :; do cat fifo; done`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := d.Turn(ctx, agent.Turn{Env: []string{mark}})
		done <- err
	}()
	waitFor(t, func() bool { _, err := os.Stat(filepath.Join(dir, "started")); return err == nil })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	gone(t, mark)
}

func TestWhatTheOperatorKeepsInAHomeStaysThere(t *testing.T) {
	home := t.TempDir()
	own := `{"theme":"dark","mcpServers":{"mine":{"command":"x"}},"security":{"auth":{"selectedType":"vertex-ai"}},"privacy":{"usageStatisticsEnabled":true}}`
	if err := errors.Join(os.Mkdir(filepath.Join(home, ".gemini"), 0o700), os.Mkdir(filepath.Join(home, ".claude"), 0o700),
		os.WriteFile(filepath.Join(home, ".gemini/settings.json"), []byte(own), 0o600)); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "GEMINI_API_KEY=k", "CLAUDE_CONFIG_DIR=", "GEMINI_CLI_HOME=", "CODEX_HOME=/kept/codex"}
	for cli, want := range map[string]string{"claude": "|", "gemini": "|"} {
		d, dir, _ := pretend(t, cli, `echo "$CLAUDE_CONFIG_DIR|$GEMINI_CLI_HOME" >env`)
		_, _ = d.Turn(t.Context(), agent.Turn{Env: env})
		if got := strings.TrimSpace(read(t, dir, "env")); got != want {
			t.Errorf("%s is sent to %q", cli, got)
		}
	}
	settings := read(t, home, ".gemini/settings.json")
	for _, want := range []string{`"theme": "dark"`, `"mine"`, `"vertex-ai"`, `"longshore"`, "LONGSHORE.md", `"usageStatisticsEnabled": true`, `"enableAutoUpdate": false`} {
		if !strings.Contains(settings, want) {
			t.Errorf("no %s in %s", want, settings)
		}
	}
}

// TestNobodyButTheModelIsAsked: each of these would have a turn wait for an
// address that swallows what is sent to it, as there are behind firewalls.
func TestNobodyButTheModelIsAsked(t *testing.T) {
	codex, dir, _ := pretend(t, "codex", `printf '%s\n' "$@" >args`)
	_, _ = codex.Turn(t.Context(), agent.Turn{})
	args := strings.Split(read(t, dir, "args"), "\n")
	for _, want := range []string{"analytics.enabled=false", "features.plugins=false", "check_for_update_on_startup=false"} {
		if !slices.Contains(args, want) {
			t.Errorf("codex: no %s", want)
		}
	}
	gemini, dir, _ := pretend(t, "gemini", ":")
	_, _ = gemini.Turn(t.Context(), agent.Turn{})
	if s := read(t, dir, "../home/gemini/.gemini/settings.json"); !strings.Contains(s, `"usageStatisticsEnabled": false`) || !strings.Contains(s, `"enableAutoUpdate": false`) {
		t.Errorf("gemini: %s", s)
	}
	claude, dir, _ := pretend(t, "claude", `echo "$CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC$DISABLE_AUTOUPDATER" >env`)
	_, _ = claude.Turn(t.Context(), agent.Turn{})
	if got := read(t, dir, "env"); got != "11\n" {
		t.Errorf("claude: %q", got)
	}
}

func TestUnknownCLIIsAnError(t *testing.T) {
	if _, err := driver.New("emacs", driver.Options{}); err == nil || !strings.Contains(err.Error(), "one of claude, codex, gemini, opencode") {
		t.Errorf("got %v", err)
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
