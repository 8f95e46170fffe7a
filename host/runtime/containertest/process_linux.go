package containertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// process is the program of an engine. It ends with this process, even if this
// process is killed.
type process struct {
	name   string
	pid    int
	exited chan struct{} // closed when the process has ended
}

func startProcess(cmd *exec.Cmd, name string) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started, exited := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(exited)
		runtime.LockOSThread() // the kernel sends Pdeathsig when the thread ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &process{name: name, pid: cmd.Process.Pid, exited: exited}, nil
}

// ready waits until the engine that getenv names answers.
func (p *process) ready(getenv func(string) string) error {
	deadline := time.Now().Add(time.Minute)
	for {
		e, err := docker.Connect(context.Background(), getenv)
		if err == nil {
			return e.Close()
		}
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended at once", p.name)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not get ready: %w", p.name, err)
		}
	}
}

// end sends a signal and waits until the process has ended. It reports whether
// the process ended without SIGKILL.
func (p *process) end(sig syscall.Signal) (obeyed bool) {
	syscall.Kill(p.pid, sig)
	select {
	case <-p.exited:
		return true
	case <-time.After(40 * time.Second):
		syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.exited
		return false
	}
}

// clearAway removes the files of an engine that has ended, and unmounts what it
// left mounted: the network namespaces of its last containers, and its data,
// which a killed engine had mounted on itself.
func clearAway(run, data string) {
	left, _ := filepath.Glob(filepath.Join(run, "x/netns/*"))
	for _, ns := range left {
		syscall.Unmount(ns, syscall.MNT_DETACH)
	}
	for syscall.Unmount(data, syscall.MNT_DETACH) == nil {
	}
	os.RemoveAll(run)
}

// only returns an environment that names one engine and nothing else.
func only(host string) func(string) string {
	return func(name string) string {
		if name == "DOCKER_HOST" {
			return host
		}
		return ""
	}
}
