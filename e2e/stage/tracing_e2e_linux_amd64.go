//go:build e2e

package stage

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Tracing is what the tracer does: it runs "longshore serve", sees each system call
// that changes a file below Dir, and kills the host at one of them, or writes all of
// them down. So the moments of the kill tests do not depend on how the host is
// written.
type Tracing struct {
	Config string
	Dir    string
	Kill   *Moment  // nil: never
	Fail   *Failure // nil: nothing
	Record string   // file for the operations; empty: none
	Count  string   // file for how many there were of each kind; empty: none
	Slack  string   // URL of the host's Slack; empty: none
}

// Moment is a place in a host's life: the nth operation of a kind on a path.
type Moment struct {
	Kind  string // of an operation; empty: any
	Path  string // pattern of filepath.Match, relative to the state directory
	Nth   int    // from 1
	After bool   // it has been done; else the kernel has not begun it
}

// Failure is a disk that fails: calls of a kind on a path return an error without
// having done anything.
type Failure struct {
	Kind, Path string        // as of a moment; empty: any. "watch" is an inotify call
	Nth, Times int           // the first one that fails, from 1, and how many do
	Errno      syscall.Errno // what they return
}

// Operation is a system call that changes a file, or makes changes durable.
type Operation struct {
	Kind   string // create, write, truncate, sync, rename, unlink, link, mkdir
	Path   string // relative; of a rename and a link, the new name
	From   string // of a rename and a link
	File   int    // number of the file, the same under each of its names; 0: a directory
	Offset int64
	Data   []byte // of a write
	Before int    // of a sync: how many operations had ended when it began
	Bare   bool   // of a sync: it is fdatasync, which leaves out the file's times
}

const tracerEnv = "LONGSHORE_TEST_TRACER"

// Traced runs a host under the tracer until it is killed at the moment, or until
// all is done. It says whether the host was killed.
func (s *Site) Traced(spec Tracing, done func() bool) bool {
	s.Helper()
	spec.Config, spec.Dir = filepath.Join(s.Dir, "longshore.yaml"), filepath.Join(s.Dir, "state")
	if s.Slack != nil {
		spec.Slack = s.Slack.URL()
	}
	text, err := json.Marshal(spec)
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), tracerEnv+"="+string(text))
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { s.Said = log.String() }()
	for deadline, tick := time.Now().Add(Patience), time.Tick(5*time.Millisecond); ; {
		select {
		case err := <-ended:
			if err != nil {
				s.Fatalf("%v\n%s", err, log.String())
			}
			return true
		case <-tick:
		}
		if late := time.Now().After(deadline); late || done() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := <-ended; spec.Kill == nil && err != nil || late {
				s.Fatalf("%v, too late: %v\n%s", err, late, log.String())
			}
			return spec.Kill != nil && cmd.ProcessState.Success()
		}
	}
}

// Operations counts what a host does to its disk until all is done, by kind.
func (s *Site) Operations(done func() bool) map[string]int {
	s.Helper()
	counts := filepath.Join(s.Dir, "counts")
	s.Traced(Tracing{Count: counts}, done)
	text, err := os.ReadFile(counts)
	all := map[string]int{}
	if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil {
		s.Fatal(err)
	}
	return all
}
