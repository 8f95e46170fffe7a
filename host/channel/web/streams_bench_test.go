package web_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// readersEnv has an address, a number of streams, and whether they are read. The process
// then opens these, and says after each message when the last of them has it. So what
// readers cost is in none of the figures.
const readersEnv = "LONGSHORE_BENCH_READERS"

func readUntilKilled(what string) {
	var addr string
	var n int
	var reads bool
	if _, err := fmt.Sscan(what, &addr, &n, &reads); err != nil {
		panic(err)
	}
	var heard atomic.Int64
	var open sync.WaitGroup
	open.Add(n)
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(c, "GET /api/chats/family/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		in := bufio.NewReader(c)
		if _, err := in.ReadString('\n'); err != nil {
			panic(err)
		}
		if open.Done(); !reads {
			continue
		}
		go func() {
			for message := false; ; {
				line, err := in.ReadSlice('\n')
				switch {
				case err != nil && err != bufio.ErrBufferFull:
					return
				case string(line) == "event: message\n":
					message = true
				case string(line) == "\n" && message:
					message = false
					if all := heard.Add(1); all%int64(n) == 0 {
						fmt.Println(all / int64(n))
					}
				}
			}
		}()
	}
	open.Wait()
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
	os.Exit(0)
}

// readers are streams in a process of their own.
type readers struct {
	b  *testing.B
	in *bufio.Reader
}

func read(b *testing.B, addr net.Addr, n int, reads bool) *readers {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %v", readersEnv, addr, n, reads))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	r := &readers{b, bufio.NewReader(stdout)}
	r.wait()
	return r
}

// wait waits until all are open, and then until the last one has the next message.
func (r *readers) wait() {
	r.b.Helper()
	if _, err := r.in.ReadString('\n'); err != nil {
		r.b.Fatal(err)
	}
}

// plainServer writes bytes to all that have connected, one after the other: the least that
// it takes.
type plainServer struct {
	net.Listener
	conns []net.Conn
}

func servePlainly(b *testing.B, n int) (*plainServer, *readers) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s, ready := &plainServer{Listener: l}, make(chan error, 1)
	go func() {
		for range n {
			c, err := l.Accept()
			if err == nil {
				_, err = http.ReadRequest(bufio.NewReader(c))
			}
			if err == nil {
				_, err = io.WriteString(c, "retry: 1000\n\n")
			}
			if err != nil {
				ready <- err
				return
			}
			s.conns = append(s.conns, c)
		}
		ready <- nil
	}()
	r := read(b, l.Addr(), n, true)
	if err := <-ready; err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for _, c := range s.conns {
			c.Close()
		}
		l.Close()
	})
	return s, r
}

func (s *plainServer) write(b *testing.B, p []byte) {
	for _, c := range s.conns {
		if _, err := c.Write(p); err != nil {
			b.Fatal(err)
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func p50(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2])
}

const manyStreams = 500

// prose is a text of a size in words.
func prose(size int) string {
	return strings.Repeat("The quick brown fox jumps over the lazy dog, and then it rests. ", size/64)
}

// BenchmarkStreams sends a message to a chat with 500 readers: what it takes of the
// processor, and when the last of them has it. The floor writes the same bytes to as many
// sockets; what it is compared with in time is a chat with one reader.
func BenchmarkStreams(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "15KB": 15_000} {
		b.Run(name, func(b *testing.B) {
			text := prose(size)
			one, all := start(b, options(b.TempDir())), start(b, options(b.TempDir()))
			last, single := read(b, all.Addr(), manyStreams, true), read(b, one.Addr(), 1, true)
			plain, plainly := servePlainly(b, manyStreams)
			heard := one.listen("")
			one.send(channel.Message{Text: text})
			single.wait()
			m := heard.event("message")
			heard.stop()
			bytes := []byte("id: " + m.id + "\nevent: message\ndata: " + m.data + "\n\n")
			var figure, floor, alone time.Duration
			var toAll, toOne, toPlain []time.Duration
			send := func(s *site, r *readers) time.Duration {
				begin := time.Now()
				s.send(channel.Message{Text: text})
				r.wait()
				return time.Since(begin)
			}
			send(all, last)
			b.ResetTimer()
			for b.Loop() {
				before := processorTime(b)
				toAll = append(toAll, send(all, last))
				between := processorTime(b)
				begin := time.Now()
				plain.write(b, bytes)
				plainly.wait()
				toPlain = append(toPlain, time.Since(begin))
				figure, floor = figure+between-before, floor+processorTime(b)-between
				before = processorTime(b)
				toOne = append(toOne, send(one, single))
				alone += processorTime(b) - before
			}
			b.ReportMetric(float64(figure.Microseconds())/float64(b.N), "cpu-µs/message")
			b.ReportMetric(float64(floor.Microseconds())/float64(b.N), "floor-µs")
			b.ReportMetric(float64(figure)/float64(floor), "x-floor")
			b.ReportMetric(float64(alone.Microseconds())/float64(b.N), "one-cpu-µs")
			b.ReportMetric(p50(toAll)/1e3, "last-µs")
			b.ReportMetric(p50(toOne)/1e3, "one-µs")
			b.ReportMetric(p50(toPlain)/1e3, "plain-last-µs")
			b.ReportMetric(p50(toAll)/p50(toOne), "x-one")
		})
	}
}

// event is the next one of a kind.
func (l *live) event(kind string) event {
	l.t.Helper()
	for {
		if e := l.next(); e.kind == kind {
			return e
		}
	}
}

// BenchmarkUnreadStreams sends 60 texts of 15 KB to a chat with 500 streams that are not
// read, and has a member of another chat post and read meanwhile: the memory over that
// before the streams, and how long the other member's requests take, beside how long they
// take alone.
func BenchmarkUnreadStreams(b *testing.B) {
	text := prose(15_000)
	var post, get, postAlone, getAlone []time.Duration
	memory := 0.0
	for b.Loop() {
		s := start(b, options(b.TempDir()))
		ask := func(posts, gets *[]time.Duration) {
			begin := time.Now()
			s.request(b, "POST", strings.NewReader(`{"text": "words"}`))
			between := time.Now()
			s.request(b, "GET", nil)
			*posts, *gets = append(*posts, between.Sub(begin)), append(*gets, time.Since(between))
		}
		for range 60 {
			ask(&postAlone, &getAlone)
		}
		peak := watchProcess()
		read(b, s.Addr(), manyStreams, false)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range 60 {
				s.send(channel.Message{Text: text})
				time.Sleep(10 * time.Millisecond)
			}
		}()
		for done := false; !done; {
			ask(&post, &get)
			select {
			case <-sent:
				done = true
			default:
			}
		}
		memory = max(memory, float64(peak())/(1<<20))
		s.stop()
	}
	b.ReportMetric(memory, "peak-MiB")
	b.ReportMetric(p50(post)/1e3, "post-µs")
	b.ReportMetric(p50(postAlone)/1e3, "post-alone-µs")
	b.ReportMetric(p50(post)/p50(postAlone), "x-post")
	b.ReportMetric(p50(get)/1e3, "get-µs")
	b.ReportMetric(p50(getAlone)/1e3, "get-alone-µs")
	b.ReportMetric(p50(get)/p50(getAlone), "x-get")
}

// request is one of a member of another chat.
func (s *site) request(b *testing.B, method string, body io.Reader) {
	b.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.at("/api/chats/work/messages"), body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(res.Body); err != nil || res.StatusCode >= 300 {
		b.Fatal(res.StatusCode, answer.String(), err)
	}
}

// watchProcess is watchMemory for all that the process holds: the heap with what is not
// collected yet, stacks, and the runtime's own.
func watchProcess() (peak func() uint64) {
	held := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.Sys - m.HeapIdle
	}
	runtime.GC()
	idle, most := held(), uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, held())
			case <-stop:
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-done
		return max(most, idle) - idle
	}
}
