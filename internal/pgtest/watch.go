package pgtest

import (
	"os/exec"
	"strconv"
	"syscall"
)

// watcher reads a line of its input. If that ends without one, the test's process is gone: then it
// ends the server $1 and removes its directory $2.
const watcher = `read -r _ || { kill -QUIT "$1"; n=0; while kill -0 "$1" && [ $((n += 1)) -lt 300 ]; do sleep 0.1; done; rm -rf "$2"; }`

// watch starts a shell that ends the server with this process, however the process ends. The shell
// has a process group of its own, and none of the test's files: go test waits for no output of it.
func (s *Server) watch() {
	s.t.Helper()
	cmd := exec.Command("/bin/sh", "-c", watcher, "sh", strconv.Itoa(s.run.Process.Pid), s.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.end = func() {
		_, _ = stdin.Write([]byte("\n"))
		_ = cmd.Wait()
	}
}
