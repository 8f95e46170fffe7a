package sshside

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// plain is what a slot and a folder, a line break between them, may look like. It is compiled when
// it is first used: every tool of every assistant is this program, and few are far.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A[0-9a-f]{1,16}\n[A-Za-z0-9][A-Za-z0-9_-]{0,63}\z`)
})

// place is where one group's assistant lives in the account:
//
//	~/longshore/FOLDER        its workspace, which stays
//	~/.longshore/homes/SLOT   what its CLI keeps, which stays
//	~/.longshore/run/SLOT     or Begin.Run/SLOT, the session's own: token, follow-ups, temporary files
type place struct {
	workspace, home, run string
	lock                 *os.File // run/SLOT.lock, held while the session runs; see recordHolder
}

// open makes a group's directories, after it has ended an older session that still runs.
func open(b *Begin) (p *place, err error) {
	user, err := os.UserHomeDir()
	if err != nil || !plain().MatchString(b.Slot+"\n"+b.Folder) {
		return nil, errors.Join(errors.New("no home directory, or an unusual group"), err)
	}
	own := filepath.Join(user, ".longshore")
	p = &place{
		workspace: filepath.Join(user, "longshore", b.Folder), home: filepath.Join(own, "homes", b.Slot),
		run: filepath.Join(cmp.Or(b.Run, filepath.Join(own, "run")), b.Slot),
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(p.run), 0o700), os.MkdirAll(p.workspace, 0o700), os.MkdirAll(p.home, 0o700)); err != nil {
		return nil, err
	}
	if p.lock, err = takeOver(p.run + ".lock"); err != nil {
		return nil, err
	}
	err = errors.Join(p.recordHolder(0), safefs.RemoveTree(p.run), os.MkdirAll(p.ipc("input"), 0o700), os.Mkdir(p.temp(), 0o700), os.WriteFile(p.token(), []byte(b.Token), 0o600))
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *place) ipc(name string) string { return filepath.Join(p.run, "ipc", name) }
func (p *place) temp() string           { return filepath.Join(p.run, "tmp") }
func (p *place) token() string          { return filepath.Join(p.run, "token") }

// close ends the session's own directory.
func (p *place) close() error {
	return errors.Join(safefs.RemoveTree(p.run), p.lock.Truncate(0), p.lock.Close())
}

// takeOverTime is how long an older session has to end, and again after it was killed.
const takeOverTime = 20 * time.Second

// takeOver holds the lock of a group's session. It ends the session that holds it, and the
// assistant that a killed one left.
func takeOver(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	killed := false
	for end := time.Now().Add(takeOverTime); ; time.Sleep(50 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		pid, group := noted(f)
		if err == nil {
			if group > 0 {
				_ = syscall.Kill(-group, syscall.SIGKILL)
			}
			return f, nil
		}
		switch late := time.Now().After(end); {
		case !errors.Is(err, syscall.EWOULDBLOCK) || late && (pid == 0 || killed):
			return nil, errors.Join(fmt.Errorf("an older session of the group does not end: %w", err), f.Close())
		case pid > 0 && late:
			_ = syscall.Kill(pid, syscall.SIGKILL)
			end, killed = time.Now().Add(takeOverTime), true
		case pid > 0:
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// recordHolder writes three words into the session's lock, for a later session that finds this
// one alive: its process, the process group of its assistant, and when the assistant started.
// Before the assistant starts, group is 0, and the third word is when the process started.
func (p *place) recordHolder(group int) error {
	if err := p.lock.Truncate(0); err != nil {
		return err
	}
	_, err := p.lock.WriteAt(fmt.Appendf(nil, "%d %d %d\n", os.Getpid(), group, startOf(cmp.Or(group, os.Getpid()))), 0)
	return err
}

// noted returns the process and the process group that a lock names, or 0 for each whose number
// belongs to another process now. A session starts before its assistant, so a process that
// started after the third word is not the session.
func noted(f *os.File) (pid, group int) {
	b := make([]byte, 100)
	n, _ := f.ReadAt(b, 0)
	words := strings.Fields(string(b[:n]))
	if len(words) != 3 {
		return 0, 0
	}
	pid, _ = strconv.Atoi(words[0])
	group, _ = strconv.Atoi(words[1])
	start, _ := strconv.ParseUint(words[2], 10, 64)
	if group <= 1 || start == 0 || startOf(group) != start {
		group = 0
	}
	if since := startOf(pid); pid <= 1 || since == 0 || since > start {
		pid = 0
	}
	return pid, group
}

// startOf is when a process started, in the kernel's ticks; 0 if there is none: see
// proc_pid_stat(5), field 22.
func startOf(pid int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, ok := strings.Cut(string(b), ") ")
	fields := strings.Fields(after)
	if err != nil || !ok || len(fields) < 20 {
		return 0
	}
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	return start
}

// ModelListen is where an assistant finds the host's models. Other users share the
// machine's loopback, so each session gets a port of its own for the 0.
const ModelListen = "127.0.0.1:0"

// env is the assistant's environment: the account's, the operator's, and ours.
func (p *place) env(b *Begin) ([]string, error) {
	mounts, err := json.Marshal([]map[string]any{{"path": "/workspace/group", "local": p.workspace}})
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	if b.Env["LONGSHORE_AGENT_HOME"] == "" {
		env = append(env, "LONGSHORE_AGENT_HOME="+p.home)
	}
	for name, value := range b.Env {
		if name != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") {
			env = append(env, name+"="+value)
		}
	}
	if b.Model != "" {
		env = append(env, "LONGSHORE_MODEL_SOCKET="+b.Model, "LONGSHORE_MODEL_LISTEN="+ModelListen)
	}
	return append(env, "LONGSHORE_AGENT="+b.Agent, "LONGSHORE_GROUP_FOLDER="+b.Folder, "LONGSHORE_IPC="+filepath.Dir(p.ipc("x")),
		"LONGSHORE_MOUNTS="+string(mounts), "LONGSHORE_URL=unix:"+b.Socket, "LONGSHORE_TOKEN=", "LONGSHORE_TOKEN_FILE="+p.token(), "TMPDIR="+p.temp()), nil
}

// putFile writes a file into the workspace, whole or not at all. No link leads it out.
func (p *place) putFile(name string, r io.Reader) error {
	root, err := os.OpenRoot(p.workspace)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return put(root, name, r)
}

// putInput hands a follow-up over.
func (p *place) putInput(name string, r io.Reader) error {
	root, err := os.OpenRoot(p.ipc("input"))
	if err != nil {
		return err
	}
	defer root.Close()
	return put(root, name, r)
}

func put(root *os.Root, name string, r io.Reader) error {
	part := filepath.Join(filepath.Dir(name), ".part-"+filepath.Base(name))
	_ = root.Remove(part) // of a killed session; a pipe that the assistant put there would be waited for without end
	f, err := root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(part, name)
	}
	if err != nil {
		_ = root.Remove(part)
	}
	return err
}

// take reads the bytes of a frame for fn, and skips what fn leaves.
func take(r *bufio.Reader, f Frame, fn func(io.Reader) error) (failed, broken error) {
	content := &frameContent{io.LimitedReader{R: r, N: f.Size}}
	failed = fn(content)
	_, broken = io.Copy(io.Discard, content)
	return failed, broken
}

// frameContent is the bytes of a frame. They end with io.EOF only if all have come.
type frameContent struct{ io.LimitedReader }

func (c *frameContent) Read(p []byte) (int, error) {
	n, err := c.LimitedReader.Read(p)
	if c.N > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
