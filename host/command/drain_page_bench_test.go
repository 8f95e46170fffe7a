package command

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// pageKinds are what the benchmarks of the page send: messages, and files of 1 KiB.
var pageKinds = map[string]bool{"messages": false, "files": true}

// BenchmarkPageDrain empties a backlog of 10,000 requests through "longshore serve"
// as a process, into the page's history: the rate from exec to the last result that
// says sent, and the process's own processor time, its start included. The floor is
// the durable poller.
func BenchmarkPageDrain(b *testing.B) {
	const n = 10_000
	for kind, files := range pageKinds {
		for _, many := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", kind, many), func(b *testing.B) {
				var took, processor, floor times
				for b.Loop() {
					s := newPageSite(b, b.TempDir(), many)
					s.fillWith(0, n, files)
					floor = append(floor, s.pollDurably())
					s.fillWith(0, n, files)
					t, p := s.drainPage(n)
					took, processor = append(took, t), append(processor, p)
					b.Log("on", s.volume())
				}
				b.ReportMetric(n*1e9/took.p50(), "told/s")
				b.ReportMetric(n*1e9/floor.p50(), "poller/s")
				b.ReportMetric(floor.p50()/took.p50(), "x-poller")
				b.ReportMetric(processor.p50()/n/1e3, "cpu-µs/request")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkPageDrop is the time from the rename of a request to the message's event
// on the page, through "longshore serve" as a process, beside the work of the durable
// poller for a request, without its wait.
func BenchmarkPageDrop(b *testing.B) {
	for kind, files := range pageKinds {
		b.Run(kind, func(b *testing.B) {
			s, polled := newPageSite(b, b.TempDir(), 1), newPageSite(b, b.TempDir(), 1)
			url := s.servePage()
			events := s.events(url)
			var shown, floor times
			for b.Loop() {
				for range 200 {
					polled.fillWith(0, 1, files)
					floor = append(floor, polled.pollDurably())
					place := s.request(len(shown), files)
					<-time.After(unchanging)
					start := time.Now()
					place()
					shown = append(shown, (<-events).Sub(start))
				}
			}
			b.Log("on", s.volume())
			report(b, shown, floor)
			b.ReportMetric(shown.at(0.99)/shown.p50(), "x-p50")
		})
	}
}

// unchanging is longer than a file must not have changed to be copied at once.
const unchanging = 50 * time.Millisecond

// fillWith puts n requests into the groups' queues, in turn and numbered from first.
func (s *site) fillWith(first, n int, files bool) {
	s.Helper()
	for i := first; i < first+n; i++ {
		s.request(i, files)()
	}
}

// request makes a request for a message, or for a file of 1 KiB in the group's
// workspace, and returns what puts it into the queue.
func (s *site) request(i int, file bool) (place func()) {
	s.Helper()
	folder, name := s.folders[i%len(s.folders)], fmt.Sprintf("%08d", i)
	if !file {
		return func() { s.put(folder, i) }
	}
	path := filepath.Join(s.cfg.Layout().Workspace(folder), name+".txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte(name), 128), 0o644); err != nil {
		s.Fatal(err)
	}
	return func() {
		s.place(folder, name+".json", fmt.Sprintf(`{"type":"file","filePath":"/workspace/group/%s.txt"}`, name))
	}
}

// serveCommand is "longshore serve" on the site's configuration.
func (s *site) serveCommand() *exec.Cmd {
	host := exec.Command(os.Args[0], "serve", "-c", filepath.Join(s.dir, "longshore.yaml"))
	host.Env = append(os.Environ(), serveEnv+"=1")
	return host
}

// kill may be called again.
func (s *site) kill(host *exec.Cmd) {
	_ = host.Process.Kill()
	_ = host.Wait()
}

// drainPage runs a host until the last request of each queue is told, and counts what
// the page has.
func (s *site) drainPage(n int) (took, processor time.Duration) {
	s.Helper()
	host, start := s.serveCommand(), time.Now()
	if err := host.Start(); err != nil {
		s.Fatal(err)
	}
	defer s.kill(host)
	for i := n - len(s.folders); i < n; i++ {
		client, id := s.client(s.folders[i%len(s.folders)]), fmt.Sprintf("%08d", i)
		for {
			r, err := client.Status(id)
			if err == nil && r.Status == ipc.Sent {
				break
			}
			if <-time.After(5 * time.Millisecond); time.Since(start) > patience || r.Status.Final() {
				s.Fatalf("%s: %+v, %v", id, r, err)
			}
		}
	}
	took = time.Since(start)
	s.kill(host)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.cfg.Layout().Channel("web"), "web.db")+"?mode=ro")
	if err != nil {
		s.Fatal(err)
	}
	defer db.Close()
	var all, different int
	if err := db.QueryRow(`SELECT count(*), count(DISTINCT text || coalesce(name, '')) FROM messages LEFT JOIN files ON message = seq`).Scan(&all, &different); err != nil {
		s.Fatal(err)
	}
	if all != n || different != n {
		s.Fatalf("the page has %d messages, %d different, of %d", all, different, n)
	}
	return took, host.ProcessState.UserTime() + host.ProcessState.SystemTime()
}

// servePage runs a host until the benchmark ends and returns the page's address.
func (s *site) servePage() string {
	s.Helper()
	_, url := s.serveOnPage()
	return url
}

// serveOnPage returns once the page has its address. The host ends with the test.
func (s *site) serveOnPage() (host *exec.Cmd, url string) {
	s.Helper()
	host = s.serveCommand()
	out, err := host.StderrPipe()
	if err == nil {
		err = host.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.kill(host) })
	for said := bufio.NewScanner(out); said.Scan(); {
		if url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(said.Text()); url != "" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return host, url
		}
	}
	s.Fatal("the host names no page")
	return nil, ""
}

// events are the moments at which the page of the first group shows a message. They
// end with the host.
func (s *site) events(url string) <-chan time.Time {
	s.Helper()
	r, err := http.Get(url + "/api/chats/" + s.folders[0] + "/events")
	if err != nil {
		s.Fatal(err)
	}
	seen := make(chan time.Time, 16)
	go func() {
		defer r.Body.Close()
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			if lines.Text() == "event: message" {
				seen <- time.Now()
			}
		}
	}()
	return seen
}

// pollDurably is the durable poller: one loop that reads, parses and unlinks the
// requests, calls the same channel, writes a result's file for each, and appends a
// line to a log with fdatasync before and after the call. It checks nothing, retries
// nothing and does not recover.
func (s *site) pollDurably() time.Duration {
	s.Helper()
	dir := s.TempDir()
	o := web.Options{Dir: filepath.Join(dir, "web"), Listen: "127.0.0.1:0"}
	for _, folder := range s.folders {
		o.Chats = append(o.Chats, web.Chat{JID: groups.JID("web:" + folder)})
	}
	page, err := web.New(o)
	if err == nil {
		err = page.Open(s.Context())
	}
	if err != nil {
		s.Fatal(err)
	}
	defer page.Close()
	log := newLogFile(s.TB.(*testing.B))
	start, n := time.Now(), 0
	for _, folder := range s.folders {
		entries, err := os.ReadDir(s.messages(folder))
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range entries {
			n++
			if err := s.pollOne(page, log, dir, folder, e.Name(), n); err != nil {
				s.Fatal(err)
			}
		}
	}
	return time.Since(start)
}

func (s *site) pollOne(page channel.Channel, log *os.File, dir, folder, name string, n int) error {
	path := filepath.Join(s.messages(folder), name)
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	request, err := ipc.Decode(body)
	if err != nil {
		return err
	}
	fdatasync(s.TB.(*testing.B), log, len(body))
	m := channel.Message{ID: fmt.Sprintf("%032x", n), Chat: groups.JID("web:" + folder), Text: request.Text}
	for _, f := range request.Files {
		m.Files = append(m.Files, s.fileOf(folder, f.Path))
	}
	r, err := page.Send(s.Context(), m)
	if err != nil {
		return err
	}
	fdatasync(s.TB.(*testing.B), log, len(body))
	result, err := json.Marshal(ipc.Result{ID: name, Status: ipc.Sent, MessageID: r.ID})
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, ".tmp")
	if err := os.WriteFile(tmp, result, 0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, folder+"-"+name)); err != nil {
		return err
	}
	return os.Remove(path)
}

func (s *site) fileOf(folder, path string) channel.File {
	s.Helper()
	path = filepath.Join(s.cfg.Layout().Workspace(folder), strings.TrimPrefix(path, "/workspace/group/"))
	content, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return channel.File{
		Info:   media.Info{Name: filepath.Base(path), MIME: "text/plain", Kind: media.Document, Size: int64(len(content))},
		SHA256: hex.EncodeToString(sum[:]),
		Open:   func() (io.ReadSeekCloser, error) { return os.Open(path) },
	}
}
