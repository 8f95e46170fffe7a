//go:build e2e

package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// BenchmarkStart starts "longshore serve" as a process with the page and many
// groups, the last of which has a request in its queue: the time until its result
// says sent, from exec, and from the moment when the configuration is read and
// checked and the host opens its first store. The process is then killed; its
// processor time is that of all that it did until then. The floor watches and lists
// every queue.
func BenchmarkStart(b *testing.B) {
	for _, many := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			s := stage.NewPageSite(b, b.TempDir(), many)
			firstSend(s) // makes the directories
			var exec, read, processor, floor times
			for b.Loop() {
				for range 5 {
					f := firstSend(s)
					exec, read, processor = append(exec, f.exec), append(read, f.read), append(processor, f.processor)
					floor = append(floor, listRaw(s))
				}
			}
			b.Log("on", volume(s))
			b.ReportMetric(exec.p50()/1e6, "exec-ms")
			b.ReportMetric(read.p50()/1e6, "read-ms")
			b.ReportMetric(processor.p50()/1e6, "cpu-ms")
			b.ReportMetric(floor.p50()/1e6, "floor-ms")
			b.ReportMetric(exec.p50()/floor.p50(), "exec-x-floor")
			b.ReportMetric(read.p50()/floor.p50(), "x-floor")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// firstSent is what a start took until its first send.
type firstSent struct{ exec, read, processor time.Duration }

// firstSend starts a host with one request in the last queue, and kills it when
// the request is sent.
func firstSend(s *stage.Site) (f firstSent) {
	s.Helper()
	folder := s.Folders[len(s.Folders)-1]
	id := s.Put(folder, int(time.Now().UnixMilli()%1e8))
	stores := make(chan time.Time, 1)
	if installation := s.Cfg.Layout().Installation(); stage.Exists(installation) {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err == nil {
			_, err = unix.InotifyAddWatch(fd, installation, unix.IN_OPEN)
		}
		if err != nil {
			s.Fatal(err)
		}
		defer unix.Close(fd)
		go func() {
			_, _ = unix.Read(fd, make([]byte, 4096))
			stores <- time.Now()
		}()
	}
	host := exec.Command(os.Args[0], "serve", "-c", filepath.Join(s.Dir, "longshore.yaml"))
	host.Env = append(os.Environ(), stage.ServeEnv+"=1")
	begin := time.Now()
	if err := host.Start(); err != nil {
		s.Fatal(err)
	}
	client, tick := s.Client(folder), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if r, err := client.Status(id); err == nil && r.Status.Final() {
			if r.Status != ipc.Sent {
				s.Fatalf("result %+v", r)
			}
			break
		}
		if <-tick.C; time.Since(begin) > stage.Patience {
			s.Fatal("nothing was sent")
		}
	}
	f.exec = time.Since(begin)
	select {
	case opened := <-stores:
		f.read = f.exec - opened.Sub(begin)
	default: // the first start of all
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	f.processor = host.ProcessState.UserTime() + host.ProcessState.SystemTime()
	return f
}

// listRaw watches and lists the directory of every queue.
func listRaw(s *stage.Site) time.Duration {
	s.Helper()
	begin := time.Now()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		s.Fatal(err)
	}
	defer unix.Close(fd)
	for _, folder := range s.Folders {
		_, watched := unix.InotifyAddWatch(fd, s.Messages(folder), unix.IN_MOVED_TO)
		if _, err := os.ReadDir(s.Messages(folder)); errors.Join(watched, err) != nil {
			s.Fatal(watched, err)
		}
	}
	return time.Since(begin)
}

// volume names the file system of the site.
func volume(s *stage.Site) string {
	s.Helper()
	v, err := safefs.VolumeOf(s.Dir)
	if err != nil {
		s.Fatal(err)
	}
	return v.Name
}
