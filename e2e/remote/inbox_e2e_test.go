//go:build e2e

package remote

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/ipc"
)

// TestTheScriptOfTheDocsAnswersMembers: what docs/remote.md has to copy, run by a shell with
// curl and jq, answers each member's message once, also if its host is killed meanwhile.
func TestTheScriptOfTheDocsAnswersMembers(t *testing.T) {
	for _, needed := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(needed); err != nil {
			need.Lacking(t, "run the script of the docs: %v", err)
		}
	}
	r := newElsewhere(t)
	_, script, _ := strings.Cut(stage.Read(t, "../../docs/remote.md"), "```sh\n")
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
	stage.Eventually(t, "nothing waits", func() bool {
		var in ipc.Inbox
		r.get("GET", "/api/inbox", r.token("desk", ""), nil, &in)
		return in.Waiting == 0
	})
	if shown := r.receiver.Shown(t, "push:desk", 2); len(shown) != 2 {
		t.Errorf("%d answers", len(shown))
	}
}
