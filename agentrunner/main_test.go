package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/ipc"
)

func TestMain(m *testing.M) {
	testscript.Main(leaks{m}, map[string]func(){"agentrunner": main})
}

// leaks fails a run that leaves goroutines behind, and removes the program
// that the run may have built.
type leaks struct{ m *testing.M }

const binDir = "AGENTRUNNER_TEST_BIN"

func (l leaks) Run() int {
	dir, err := os.MkdirTemp("", "agentrunner")
	if err == nil {
		err = os.Setenv(binDir, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	status := l.m.Run()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			answer := make(chan ipc.Status, 1)
			answer <- ipc.Sent
			h := fakehost.New(t, func(r fakehost.Request) []ipc.Result {
				status := <-answer
				answer <- status
				switch status {
				case "":
					return nil
				case ipc.Refused:
					return []ipc.Result{{Status: status, Code: "chat_not_allowed", Message: "that chat is another group's", Hint: "leave the chat out"}}
				case ipc.Failed:
					return []ipc.Result{{Status: status, Code: "not_a_member", Message: "the account left the group"}}
				}
				return []ipc.Result{{Status: status, MessageID: "m-1"}}
			})
			h.Tell(fakehost.AbleContext())
			env.Vars = append(append(env.Vars, h.Env()...), "LONGSHORE_WAIT=2m", "GROUP="+filepath.Join(h.Root, "group"))
			env.Values["answer"], env.Values["host"] = answer, h
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"answer": answer, "exits": exits, "request": request},
	})
}

// answer STATUS: what the host answers from now on; none to leave requests
// where they are.
func answer(ts *testscript.TestScript, _ bool, args []string) {
	answer := ts.Value("answer").(chan ipc.Status)
	<-answer
	if args[0] == "none" {
		args[0] = ""
	}
	answer <- ipc.Status(args[0])
}

// exits STATUS COMMAND...: the command ends with exactly this status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%q ended with status %d, not %s", args[1:], got, args[0])
	}
}

// request WORDS: the next request that came has them in it.
func request(ts *testscript.TestScript, _ bool, args []string) {
	r := ts.Value("host").(*fakehost.Host).Next()
	if got := fmt.Sprintf("%+v", r.Request); !strings.Contains(got, args[0]) {
		ts.Fatalf("the request is %s", got)
	}
}

func TestProgramLinksNoChannelAndNoDatabase(t *testing.T) {
	out, err := exec.Command("go", "list", "-buildvcs=false", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte("longshore/agentrunner/tools\n")) {
		t.Fatalf("not this program's packages:\n%s", out)
	}
	for dep := range strings.Lines(string(out)) {
		for _, banned := range []string{"longshore/host", "longshore/groups", "sqlite", "whatsmeow", "slack", "prometheus", "cobra", "testing\n", "database/sql\n"} {
			if strings.Contains(dep, banned) {
				t.Errorf("links %s", strings.TrimSpace(dep))
			}
		}
	}
}
