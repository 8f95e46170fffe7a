//go:build e2e

package kill

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/ipc"
)

// scarcity is how a host gets little memory.
type scarcity struct {
	name   string
	shell  string // what a shell does before it becomes the host
	enough bool   // the host has to serve
}

// scarcities are of two kinds. With RLIMIT_DATA the kernel refuses memory, and Go's runtime
// ends the process; in a control group, which not every machine lets a test make, the kernel
// kills it. One is enough for a host that does not hold the flood in memory.
func scarcities(t *testing.T) []scarcity {
	data := func(mib int, enough bool) scarcity {
		return scarcity{fmt.Sprintf("%d MiB of data", mib), fmt.Sprintf("ulimit -d %d", mib<<10), enough}
	}
	all := []scarcity{data(144, false)}
	for _, mib := range []int{32, 96} {
		dir := memoryGroup(t, mib<<20)
		if dir == "" {
			t.Log("no control group can be made here: tried with RLIMIT_DATA alone")
			return append(all, data(512, true))
		}
		all = append(all, scarcity{fmt.Sprintf("a control group of %d MiB", mib), fmt.Sprintf("echo $$ > %s/cgroup.procs", dir), mib == 96})
	}
	return all
}

// memoryGroup makes a control group with so many bytes of memory; empty: it cannot.
func memoryGroup(t *testing.T, most int) (dir string) {
	t.Helper()
	for root, file := range map[string]string{"/sys/fs/cgroup": "memory.max", "/sys/fs/cgroup/memory": "memory.limit_in_bytes"} {
		dir, err := os.MkdirTemp(root, "longshore-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			for range 100 { // the kernel takes its time with a group whose processes have ended
				if syscall.Rmdir(dir) != syscall.EBUSY {
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		})
		limit := filepath.Join(dir, file)
		if _, err := os.Stat(limit); err == nil && os.WriteFile(limit, fmt.Append(nil, most), 0) == nil {
			_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0) // of version 2 alone
			return dir
		}
	}
	return ""
}

// floodMemory asks for the longest texts that are one message, as many as make a queue of
// 6 MiB, and for a file that is as large as a chat takes.
func (b *pageSite) floodMemory() {
	b.Helper()
	for i := range 400 {
		text := strings.Repeat(rand.Text(), 600)
		b.enqueue(b.Folders[i%len(b.Folders)], ipc.Request{Type: ipc.TypeMessage, Text: text}, []byte(text))
	}
	content := bytes.Repeat([]byte(rand.Text()), 100<<20/26)
	folder := b.Folders[0]
	if err := os.WriteFile(filepath.Join(b.Cfg.Layout().Workspace(folder), "large.bin"), content, 0o644); err != nil {
		b.Fatal(err)
	}
	b.enqueue(folder, ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: "/workspace/group/large.bin"}}}, content)
}

// TestTooLittleMemoryLosesNothing floods hosts that get so much memory. Each serves, or
// ends; whoever runs the host then starts it again, and the next one has everything. A host
// that the kernel kills can say nothing itself: the service manager and the kernel's log
// name it, and Go's runtime writes why it ended.
func TestTooLittleMemoryLosesNothing(t *testing.T) {
	if stage.RaceDetector {
		t.Skip("the race detector needs many times the memory")
	}
	all := scarcities(t)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			b := newFaultSite(t)
			b.floodMemory()
			host := b.ServeCommand()
			host.Args = append([]string{"sh", "-c", s.shell + ` && exec "$0" "$@"`, host.Path}, host.Args[1:]...)
			host.Path = "/bin/sh"
			var said lastLines
			host.Stderr = &said
			stage.Must(t, host.Start())
			t.Cleanup(func() { b.Kill(host) })
			ended := make(chan error, 1)
			go func() { ended <- host.Wait() }()
			served := b.servesOrEnds(host.Process, ended, s.enough)
			if s.enough && !served {
				t.Errorf("the host did not serve: %s", said.String())
			}
			t.Logf("it served: %v, and said %d bytes", served, len(said.String()))
			b.ask(1)
			for _, f := range b.settled() {
				t.Errorf("%s; the host before said: %s", f, said.String())
			}
		})
	}
}

// servesOrEnds waits until a host has sent everything, which it then ends, or until it has
// ended. A host that has too little memory may also do neither, since the kernel takes and
// reads its program's pages again and again: it is killed.
func (b *pageSite) servesOrEnds(host *os.Process, ended <-chan error, enough bool) (served bool) {
	b.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	long := 20 * time.Second
	if enough {
		long = stage.Patience
	}
	for deadline := time.After(long); ; {
		select {
		case err := <-ended:
			if err == nil {
				b.Error("the host ended without an error and without being asked to")
			}
			return false
		case <-tick.C:
			if !b.done() {
				continue
			}
			_ = host.Signal(syscall.SIGTERM)
			<-ended
			return true
		case <-deadline:
			_ = host.Kill()
			<-ended
			return false
		}
	}
}
