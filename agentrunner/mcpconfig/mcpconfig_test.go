package mcpconfig_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
)

var update = flag.Bool("update", false, "write the golden files")

func TestEachCLIGetsTheFormItReads(t *testing.T) {
	command := []string{"/usr/local/bin/agentrunner", "mcp", `--note=say "hi" \o/ <b>`}
	env := map[string]string{"LONGSHORE_WAIT": "30s", "LONGSHORE_CHAT_JID": "web:family"}
	for _, cli := range mcpconfig.CLIs() {
		t.Run(cli, func(t *testing.T) {
			got, err := mcpconfig.For(cli, command, env)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", cli+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("configuration differs from %s (-want +got):\n%s", golden, diff)
			}
			if cli != "codex" && !json.Valid([]byte(got)) {
				t.Errorf("not JSON: %s", got)
			}
			if mcpconfig.Place(cli) == "" {
				t.Error("nothing says where it belongs")
			}
		})
	}
}

func TestEachCLIGetsTheFormOfHTTPThatItReads(t *testing.T) {
	for _, cli := range mcpconfig.HTTPClients() {
		t.Run(cli, func(t *testing.T) {
			got, err := mcpconfig.ForHTTP(cli, "http://127.0.0.1:8430/")
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", cli+"-http.golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("configuration differs from %s (-want +got):\n%s", golden, diff)
			}
			if !strings.Contains(got, "http://127.0.0.1:8430/mcp") || !strings.Contains(got, mcpconfig.TokenVariable) || mcpconfig.PlaceHTTP(cli) == "" {
				t.Errorf("no address, no token or no place: %s", got)
			}
		})
	}
	for _, address := range []string{"", "127.0.0.1:8430", "unix:/run/remote.sock", "http://host/\nx", "http://host/$(id)", "http://a:b@host", "http://host/?token=x"} {
		if _, err := mcpconfig.ForHTTP("claude", address); err == nil || !strings.Contains(err.Error(), "such as http://127.0.0.1:8430") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := mcpconfig.ForHTTP("emacs", "http://host"); err == nil || !strings.Contains(err.Error(), "inspector") {
		t.Error(err)
	}
}

func TestCodexTakesItOnItsCommandLineToo(t *testing.T) {
	got, err := mcpconfig.CodexOverride([]string{`/bin/a "b"`, "mcp", `c\d`}, map[string]string{"B": `[{"path":"/x"}]`, "A": "1"}, []string{"TOKEN"})
	want := `mcp_servers.longshore={command = "/bin/a \"b\"", args = ["mcp", "c\\d"], default_tools_approval_mode = "approve", ` +
		`env = {"A" = "1", "B" = "[{\"path\":\"/x\"}]"}, env_vars = ["TOKEN"]}`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("override (-want +got):\n%s%v", diff, err)
	}
	for _, command := range [][]string{nil, {"/bin/x\n"}} {
		if _, err := mcpconfig.CodexOverride(command, nil, nil); err == nil {
			t.Errorf("%q was taken", command)
		}
	}
}

func TestCommandWithoutArgumentsIsAnEmptyList(t *testing.T) {
	got, err := mcpconfig.For("claude", []string{"/bin/x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, `"args": []`) || !strings.Contains(got, `"env": {}`) {
		t.Errorf("lists are missing: %s", got)
	}
}

func TestWhatCannotBeWrittenDownIsAnError(t *testing.T) {
	for name, call := range map[string]struct {
		cli     string
		command []string
		env     map[string]string
		want    string
	}{
		"unknown CLI":     {"emacs", []string{"/bin/x"}, nil, "one of claude, codex, gemini, opencode"},
		"no command":      {"claude", nil, nil, "no command"},
		"newline":         {"codex", []string{"/bin/x\nevil = true"}, nil, "control character"},
		"newline in env":  {"codex", []string{"/bin/x"}, map[string]string{"A": "b\r"}, "control character"},
		"escape in a key": {"gemini", []string{"/bin/x"}, map[string]string{"\x1b": "b"}, "control character"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mcpconfig.For(call.cli, call.command, call.env)
			if err == nil || !strings.Contains(err.Error(), call.want) {
				t.Errorf("got error %v, want one with %q", err, call.want)
			}
		})
	}
}
