//go:build e2e

package remote

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/ipc"
)

// crawlEnv makes the test's program a crowd: its value is an address and a token.
const crawlEnv = "LONGSHORE_TEST_CRAWL"

const crawlers = 10_000

// mainCrawl has a crowd of clients, of which half have a token. Each sends a call byte by byte, and
// comes again 5 s after it was sent away. It says "here" once each has been connected, and ends with its stdin.
func mainCrawl(spec string) int {
	address, token, _ := strings.Cut(spec, " ")
	var met atomic.Int64
	for i := range crawlers {
		head := "POST /api/send-media HTTP/1.1\r\nHost: " + address + "\r\nX: "
		if i%2 == 0 {
			head = "POST /api/send-media HTTP/1.1\r\nHost: " + address + "\r\nAuthorization: Bearer " + token +
				"\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
		}
		// Each has an address among 100, as one address has not ports enough.
		from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%100))}}
		go func() {
			for first := true; ; first = false {
				c, err := from.Dial("tcp", address)
				if err == nil {
					if first && met.Add(1) == crawlers {
						fmt.Println("here")
					}
					_, err = io.WriteString(c, head)
					for ; err == nil; _, err = io.WriteString(c, " ") {
						<-time.After(time.Second) // it crawls
					}
					c.Close()
				} else if first {
					fmt.Println(err)
				}
				<-time.After(5 * time.Second)
			}
		}()
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// TestTenThousandCrawlersHoldNobodyUp: half of them show no token, half have one of another
// group. The calls of others get through, each at once on a connection of its own, and the
// host's memory grows by 64 MiB at most.
func TestTenThousandCrawlersHoldNobodyUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		need.Lacking(t, "count memory in /proc, and use all of 127.0.0.0/8")
	}
	r := newElsewhere(t)
	desk, quay := r.token("desk", ""), r.token("quay", "")
	call := func(kind string) time.Duration {
		var took []time.Duration
		for i := range 50 {
			start := time.Now()
			name := fmt.Sprintf("%s-%d.txt", kind, i)
			if got, status := r.upload(desk, name, name, "bytes", ""); got.Status != ipc.Sent || status != http.StatusOK {
				t.Fatalf("%s: %d, %+v", name, status, got)
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	call("warm")
	calm, before := call("calm"), r.resident()
	crowd := exec.Command(os.Args[0])
	crowd.Env = append(os.Environ(), crawlEnv+"="+strings.TrimPrefix(r.url, "http://")+" "+quay)
	in, err := crowd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := crowd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := crowd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = crowd.Wait()
	})
	said := make([]byte, 1000)
	if n, err := out.Read(said); string(said[:n]) != "here\n" {
		t.Fatalf("the crowd says %q, %v", said[:n], err)
	}
	crawled := call("crawled 0")
	for i := 1; i < 3 && crawled > 2*calm; i++ { // the machine may have had other things to do
		crawled = min(crawled, call(fmt.Sprint("crawled ", i)))
	}
	grown := r.resident() - before
	t.Logf("a call takes %v, among %d crawlers %v; the host has grown by %d KiB", calm, crawlers, crawled, grown>>10)
	if crawled > 2*calm {
		t.Errorf("a call takes %v among crawlers, and %v without", crawled, calm)
	}
	if grown > 64<<20 {
		t.Errorf("the host has grown by %d bytes", grown)
	}
}

// resident is the host's memory, in bytes.
func (r *elsewhere) resident() int64 {
	r.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.host.Process.Pid))
	if err != nil {
		r.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return kib << 10
}
