//go:build e2e

package driver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
)

// TestOpencodeWritesNoPlugin has the model try what opencode would run.
func TestOpencodeWritesNoPlugin(t *testing.T) {
	var w *world
	names := []string{"notes.js", ".opencode/plugin/x.js", "./.opencode/plugins/x.js", "inbox/../.opencode/x.js", "opencode.json"}
	w = newWorld(t, "opencode", func(r modeltest.Request) modeltest.Answer {
		if len(r.Results) == len(names) {
			return modeltest.Answer{Text: "Ahoy."}
		}
		return modeltest.Answer{Text: "no tool", Call: "edit",
			Args: map[string]any{"filePath": w.host.Root + "/group/" + names[len(r.Results)], "oldString": "", "newString": "//"}}
	})
	if _, err := w.turn(t.Context(), "<message sender=\"Ada\">hello</message>", "", "LONGSHORE_RIGHTS=workspace"); err != nil {
		t.Fatal(err)
	}
	if got := w.host.Root + "/group/"; !exists(got+"notes.js") || exists(got+".opencode") || exists(got+"opencode.json") {
		requests := w.model.Requests()
		t.Errorf("of what it may write and what not: %q", requests[len(requests)-1].Results)
	}
}

// TestWhatIsPlantedForAShellRunsNothing has the model run a harmless command in
// a workspace that is the home directory too, as it is without a container: the
// shell for it, and git, would obey files that lie there, before and outside
// of what the CLI asks about.
func TestWhatIsPlantedForAShellRunsNothing(t *testing.T) {
	tools := map[string]struct{ name, argument string }{
		"claude": {"Bash", "command"}, "codex": {"exec_command", "cmd"}, "gemini": {"run_shell_command", "command"}, "opencode": {"bash", "command"},
	}
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(r modeltest.Request) modeltest.Answer {
			if len(r.Results) > 0 {
				return modeltest.Answer{Text: "Ahoy."}
			}
			return modeltest.Answer{Text: "Ahoy.", Call: tools[cli].name, Args: map[string]any{tools[cli].argument: "echo hi", "description": "greet"}}
		})
		mark := filepath.Join(t.TempDir(), "ran")
		for _, name := range []string{".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshenv", ".zshrc"} {
			w.host.File("group/"+name, "touch "+mark+name+"\n")
		}
		git := "[core]\n\tfsmonitor = touch " + mark + "-git\n[alias]\n\tx = !touch " + mark + "-alias\n"
		w.host.File("group/.gitconfig", git)
		w.host.File("group/.config/git/config", git)
		if _, err := w.turn(t.Context(), "<message sender=\"Ada\">hello</message>", "", "LONGSHORE_RIGHTS=workspace"); err != nil {
			t.Error(err)
		}
		if ran, _ := filepath.Glob(mark + "*"); len(ran) > 0 {
			t.Errorf("what was planted ran: %q", ran)
		}
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
