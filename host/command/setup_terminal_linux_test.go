package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

const ctrlC, ctrlD = "\x03", "\x04"

// aQuestion matches each question of setup. A question that is missing here lets the walk
// wait until hangGuard, and the test says at which one.
var aQuestion = regexp.MustCompile(`(?:name of the first group|(?:assistant|channel beside the chat page): [^\r\n]* \[\w+\]|model \([^\r\n]*\)|` +
	`(?:key for|\w+ of) \w+ \(it is not shown\)): $|have the service manager run the host\? \[y/N\] $`)

// answersTo returns what a person may answer: each assistant and each channel that is offered.
func answersTo(question string) []string {
	offered := regexp.MustCompile(`^[a-z ]+: (.*) \[(sample|none)\]: $`).FindStringSubmatch(question)
	switch {
	case offered != nil:
		plain := regexp.MustCompile(` \(.*?\)`).ReplaceAllString(offered[1], "")
		return regexp.MustCompile(`, | or `).Split(plain, -1)
	case strings.HasPrefix(question, "have the service manager"):
		return []string{"n"}
	}
	return []string{"one"}
}

// walk goes through the questions of setup, in a process for each.
type walk struct{ bin, dir, service string }

// start starts a setup on a terminal, which fails after its last question, before it
// writes anything. ended is closed at its end.
func (w walk) start(t *testing.T) (k *keyboard, cmd *exec.Cmd, ended chan struct{}) {
	t.Helper()
	k, ended = newKeyboard(t), make(chan struct{})
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-c", filepath.Join(w.dir, "longshore.yaml"), "setup", "--base-url", w.service, "--listen", "nowhere")
	cmd.Env = append(os.Environ(), stage.ServeEnv+"=1", "PATH="+w.bin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = k.tty, k.tty, k.tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its state says how it ended
		k.tty.Close()
	}()
	return k, cmd, ended
}

// interrupt types ctrl-c at the question after these answers, and returns what a person
// may answer there; nothing if no question follows.
func (w walk) interrupt(t *testing.T, answers ...string) []string {
	t.Helper()
	k, cmd, ended := w.start(t)
	defer k.hangUp()
	for _, answer := range answers {
		k.expect(aQuestion)
		k.types(answer + "\n")
	}
	question := k.expect(aQuestion)
	if question == "" {
		if <-ended; cmd.ProcessState.ExitCode() != terminal.ExitFault {
			t.Errorf("after %q setup ended with %v:\n%s", answers, cmd.ProcessState, k.all)
		}
		return nil
	}
	if hidden := strings.Contains(question, "not shown"); hidden == k.echoes() {
		t.Errorf("at %q the terminal shows what is typed: %v", question, hidden)
	}
	k.types(ctrlC)
	for k.read() {
	}
	<-ended
	if code := cmd.ProcessState.ExitCode(); code != terminal.ExitInterrupted { // its last words are lost if the kernel hangs up before they are read
		t.Errorf("ctrl-c at %q ended setup with %v:\n%s", question, cmd.ProcessState, k.all)
	}
	if !k.echoes() {
		t.Errorf("after ctrl-c at %q the terminal does not show what is typed", question)
	}
	if left := filesBelow(t, w.dir); len(left) > 0 {
		t.Errorf("ctrl-c at %q left %q", question, left)
	}
	return answersTo(question)
}

// all interrupts the question after these answers, and all that follow whatever is answered.
func (w walk) all(t *testing.T, answers ...string) {
	t.Helper()
	for _, next := range w.interrupt(t, answers...) {
		w.all(t, append(slices.Clone(answers), next)...)
	}
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCtrlCEndsSetupAtEachQuestion: of every assistant and channel that it offers. The
// signal was swallowed, so the next command of the shell became the token. The directory
// takes a second setup.
func TestCtrlCEndsSetupAtEachQuestion(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) // takes every key
	defer service.Close()
	w := walk{bin: t.TempDir(), dir: t.TempDir(), service: service.URL}
	w.interrupt(t)
	agents := w.interrupt(t, "Family")
	if len(agents) < 5 {
		t.Fatalf("setup offers %q", agents)
	}
	for _, agent := range agents {
		stage.Write(t, filepath.Join(w.bin, agent), "#!/bin/sh\nexit 1\n")
		if err := os.Chmod(filepath.Join(w.bin, agent), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("with", func(t *testing.T) {
		for _, agent := range agents {
			t.Run(agent, func(t *testing.T) {
				t.Parallel()
				own := w
				own.dir = t.TempDir()
				own.all(t, "Family", agent)
			})
		}
	})
	listen := stage.FreeAddress(t)
	setUp(t, w.dir, "--group", "Family", "--listen", listen).end(t)
}

// dialog runs setup in this process, on a terminal.
func dialog(t *testing.T, platforms []channel.Platform, args ...string) (k *keyboard, stop context.CancelFunc, ended chan int) {
	t.Helper()
	k, ended = newKeyboard(t), make(chan int, 1)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		ended <- Run(ctx, "", platforms, args, k.tty, k.tty, k.tty)
		k.tty.Close()
	}()
	return k, stop, ended
}

// answers answers the question that setup asks next, which has about in it, and demands
// what setup says of the answer; empty: nothing.
func (k *keyboard) answers(about, answer, reason string) {
	k.t.Helper()
	if question := k.expect(aQuestion); !strings.Contains(question, about) {
		k.t.Fatalf("setup asks %q, not for %s:\n%s", question, about, k.all)
	}
	k.types(answer + "\n")
	if reason != "" && k.expect(regexp.MustCompile(reason)) == "" {
		k.t.Fatalf("setup does not say %q:\n%s", reason, k.all)
	}
}

// TestAWrongAnswerEndedSetup, and all answers before were lost: a typo, a program that is
// not there yet, an empty key, a refused one.
func TestAWrongAnswerEndedSetup(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "taken" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		if strings.HasSuffix(r.URL.Path, "claude-gone") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer service.Close()
	platforms := withTelegramAt(telegramtest.New(t, stage.DockChat).URL)
	bin, dir := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	file := filepath.Join(dir, "longshore.yaml")
	k, stop, ended := dialog(t, platforms, "-c", file, "setup", "--no-service", "--listen", "127.0.0.1:0", "--model", "claude-gone", "--base-url", service.URL, "--chat", fmt.Sprint("tg:", stage.DockChat))
	k.answers("name", "", "the group has no name")
	k.answers("name", "Errors", "reserved")
	k.answers("name", "The Family", "")
	k.answers("[sample]", "clyde", "knows no assistant \"clyde\"")
	k.answers("[sample]", "claude", "hint: install it: npm install -g @anthropic-ai/claude-code; then press Enter")
	k.answers("[claude]", "", "not in the PATH")
	program(t, "claude")
	k.answers("[claude]", "", "")
	k.answers("key for claude", "", "the key is empty")
	k.answers("key for claude", "two words", "not one word")
	k.answers("key for claude", "refused-key", "refuses its key")
	k.answers("key for claude", "taken", "no model claude-gone")
	k.answers("model (empty: the one that claude chooses)", "", "takes its key")
	k.answers("[none]", "telegramm", "did you mean|telegram")
	k.answers("[none]", "telegram", "BotFather")
	k.answers("token of telegram", "", "token is empty")
	k.answers("token of telegram", "123:AAAAAAAAAAAAAAAAAAAAAAAA", "removed .* again")
	if left := filesBelow(t, dir); len(left) > 0 {
		t.Errorf("a refused token left %q", left)
	}
	k.answers("[telegram]", "", "")
	k.answers("token of telegram", telegramtest.Token, "linked to")
	stop()
	<-ended
	for _, want := range []string{"longshore.yaml", "secrets/anthropic_api_key", "secrets/telegram_token"} {
		if _, err := os.Lstat(filepath.Join(dir, want)); err != nil {
			t.Errorf("%v\n%s", err, k.all)
		}
	}
	if strings.Contains(string(k.all), telegramtest.Token) || strings.Contains(string(k.all), "refused-key") {
		t.Errorf("a secret is shown:\n%s", k.all)
	}
}

// TestAnInterruptWhileAnAccountIsLinkedLeavesNothing that keeps a second setup from its work.
func TestAnInterruptWhileAnAccountIsLinkedLeavesNothing(t *testing.T) {
	platforms := withTelegramAt(telegramtest.New(t, stage.DockChat).URL)
	dir := t.TempDir()
	for range 2 {
		k, stop, ended := dialog(t, platforms, "-c", filepath.Join(dir, "longshore.yaml"), "setup", "--group", "Family", "--agent", "sample", "--no-service", "--channel", "telegram")
		k.answers("token of telegram", telegramtest.Token, "this waits two minutes")
		stop()
		if code := <-ended; code != terminal.ExitInterrupted {
			t.Errorf("setup ended with %d:\n%s", code, k.all)
		}
		for _, left := range filesBelow(t, dir) {
			if !strings.HasPrefix(left, filepath.Join(dir, "state")) {
				t.Errorf("%s is left", left)
			}
		}
	}
}

// TestTheEndOfTheInputEndsSetup with a reason, instead of asking again and again.
func TestTheEndOfTheInputEndsSetup(t *testing.T) {
	for name, leave := range map[string]func(*keyboard){
		"ctrl-d":  func(k *keyboard) { k.types(ctrlD) },
		"hang up": func(k *keyboard) { k.own.Close() },
	} {
		for _, answers := range [][]string{nil, {"Family", "sample", "telegram"}} {
			t.Run(name, func(t *testing.T) {
				k, _, ended := dialog(t, stage.AllPlatforms(), "-c", filepath.Join(t.TempDir(), "longshore.yaml"), "setup")
				for _, answer := range answers {
					k.answers("", answer, "")
				}
				k.expect(aQuestion)
				leave(k)
				if code := <-ended; code != terminal.ExitFault {
					t.Errorf("setup ended with %d", code)
				}
				if name == "ctrl-d" && k.expect(regexp.MustCompile("no answer: the input has ended")) == "" {
					t.Errorf("setup does not say why it ended:\n%s", k.all)
				}
			})
		}
	}
}

// TestTheServiceManagersQuestionTakesYesAndNo, on a machine that has one.
func TestTheServiceManagersQuestionTakesYesAndNo(t *testing.T) {
	k := newKeyboard(t)
	s := setupFor(t, setupAgent{})
	s.Stdin, s.Stderr, s.manager = k.tty, k.tty, manager{running: t.TempDir()}
	s.Prompter = s.env.Prompter()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.askService(ctx) }()
	k.answers("service", "perhaps", "neither yes nor no")
	k.answers("service", "Yes", "")
	if err := <-ended; err != nil || !s.service {
		t.Errorf("%v, service: %v", err, s.service)
	}
	s.service = false
	go func() { ended <- s.askService(ctx) }()
	k.expect(aQuestion)
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupt ended the question with %v", err)
	}
}
