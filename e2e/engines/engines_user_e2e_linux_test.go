//go:build e2e

package engines

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// ordinary is a user and group without privileges and without a name, who may
// use the engine's socket.
const ordinary = 4711

// userHost is a longshore whose commands run as an ordinary user.
type userHost struct {
	*boxes
	program string
	state   string
	uid     uint32
}

// newUserHost puts the program and the configuration of newBoxesOn where an
// ordinary user can use them.
func newUserHost(t *testing.T, p *containertest.Private, uid int, assistant string) *userHost {
	t.Helper()
	if err := os.Chown(p.Socket(), -1, uid); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "lsu") // the test's own is closed to all but its user
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := &userHost{boxes: newBoxesOn(t, p.Host(), 1, assistant), program: filepath.Join(dir, "longshore"), state: filepath.Join(dir, "state"), uid: uint32(uid)}
	file := filepath.Join(dir, "longshore.yaml")
	for to, from := range map[string]string{file: h.file, h.program: os.Args[0]} {
		if err := copyTo(to, from); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(to, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	h.file = file
	return h
}

func copyTo(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// command is longshore with arguments, as the user.
func (h *userHost) command(uid uint32, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // one that should refuse and does not
	h.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, h.program, append(args, "-c", h.file)...)
	cmd.Dir = filepath.Dir(h.file)
	cmd.Env = []string{stage.ServeEnv + "=1", "DOCKER_HOST=" + h.engine, "PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	return cmd
}

// during runs "longshore serve" as the user while do runs.
func (h *userHost) during(do func()) {
	h.Helper()
	var log stage.LockedBuffer
	cmd := h.command(h.uid, "serve")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	do()
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil || h.Failed() {
		h.Errorf("serve: %v\n%s", err, log.String())
	}
}

// tells waits until "longshore serve" has those words in its log.
func (h *userHost) tells(words string) {
	h.Helper()
	var log stage.LockedBuffer
	cmd := h.command(h.uid, "serve")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for said := ""; !strings.Contains(said, words) || !strings.Contains(said, `"serving"`); said = log.String() { // before that, an interrupt is an error
		select {
		case err := <-ended:
			h.Fatalf("serve: %v, want it to tell %s\n%s", err, words, log.String())
		case <-tick.C:
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := <-ended; err != nil {
		h.Errorf("serve: %v\n%s", err, log.String())
	}
}

// TestHostAsAnOrdinaryUser runs the host as a user who may use the engine. Its
// assistants are that user too. What keeps them from their directories is told
// by the start and by the doctor, whoever runs it, with the command that mends
// it; what an assistant can take away itself the start gives back.
func TestHostAsAnOrdinaryUser(t *testing.T) {
	p := containertest.NewPrivate(t, "--bridge=none")
	h := newUserHost(t, p, ordinary, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none}",
		`cd /workspace/group; umask 077; echo a >a.txt; agentrunner send /workspace/group/a.txt >&2; echo "I am $(id -u):$(id -g)"`, p.Runner()))
	m := stage.Member{Base: h.base, Chat: "g0"}
	ask := func(files int) {
		t.Helper()
		h.during(func() {
			h.answeredWith(m, h.say(m, "go"), "I am 4711:4711")
			heard := slices.DeleteFunc(h.heard(m), func(text string) bool { return text != "a.txt" })
			if len(heard) != files {
				t.Errorf("%d files left the container, want %d", len(heard), files)
			}
		})
	}
	ask(1)
	for _, tc := range []struct {
		name, dir, command string
		uid                int
		mode               fs.FileMode
		given              bool // by the start
	}{
		{"queue of another user's", "ipc/g0/messages", "sudo chown -R 4711:4711", 1000, 0o755, false},
		{"shut workspace of another user's", "groups/g0", "sudo chown -R 4711:4711", 0, 0o500, false},
		{"shut results", "ipc/g0/results", "chmod u+rx", ordinary, 0o300, false},
		{"shut home", "homes/g0", "chmod u+rwx", ordinary, 0o500, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(h.state, tc.dir)
			if err := os.Chown(dir, tc.uid, tc.uid); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, tc.mode); err != nil {
				t.Fatal(err)
			}
			want := tc.command + " '" + dir + "'"
			if !tc.given {
				h.tells("run: " + want)
			}
			said, err := h.command(ordinary, "doctor").CombinedOutput()
			if err == nil || !strings.Contains(string(said), "run: "+want) {
				t.Errorf("doctor: %v, want it to tell %s\n%s", err, want, said)
			}
			_, command, _ := strings.Cut(string(said), "run: ")
			command, _, _ = strings.Cut(command, "\n")
			if said, err := h.command(0, "doctor").CombinedOutput(); err == nil || !strings.Contains(string(said), "run: "+strings.ReplaceAll(command, "sudo ", "")) {
				t.Errorf("doctor as root: %v, want it to tell %s\n%s", err, command, said)
			}
			if tc.given {
				return
			}
			mend := exec.Command("/bin/sh", "-c", strings.ReplaceAll(command, "sudo ", ""))
			if !strings.Contains(command, "sudo") {
				mend.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
			}
			if said, err := mend.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", command, err, said)
			}
		})
	}
	ask(2)
	if info, err := os.Stat(filepath.Join(h.state, "homes/g0")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home that was shut: %v, %v", info, err)
	}
}

// TestHostOfARootlessEngine runs engine and host as the same user, and the
// host as root, which such an engine is no help to.
func TestHostOfARootlessEngine(t *testing.T) {
	p := containertest.NewRootless(t)
	h := newUserHost(t, p, containertest.Nobody, fmt.Sprintf("{runtime: docker, agent: command, command: [/bin/sh, -c, %q], image: %q, network: none}",
		`cd /workspace/group; umask 077; echo a >a.txt; agentrunner send /workspace/group/a.txt >&2; echo "I am $(id -u), $(grep CapEff /proc/self/status | cut -f2)"`, p.Runner()))
	m := stage.Member{Base: h.base, Chat: "g0"}
	h.during(func() {
		h.answeredWith(m, h.say(m, "go"), "I am 0, 0000000000000000")
		if heard := h.heard(m); !slices.Contains(heard, "a.txt") {
			t.Errorf("no file left the container: %q", heard)
		}
	})
	if info, err := os.Stat(filepath.Join(h.state, "groups/g0/a.txt")); err != nil || info.Sys().(*syscall.Stat_t).Uid != containertest.Nobody {
		t.Errorf("on the host its file is %v, %v", info, err)
	}
	if said, err := h.command(0, "serve").CombinedOutput(); err == nil || !strings.Contains(string(said), "run longshore as the engine's user") {
		t.Errorf("serve as root: %v\n%s", err, said)
	}
}
