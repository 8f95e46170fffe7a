package command

import (
	"bufio"
	"bytes"
	"database/sql"
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

	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

// load is what the benchmarks of a whole host send: texts, or files.
type load struct {
	name string
	size int // bytes of a file; 0: texts
}

var (
	messages = load{"messages", 0}
	files    = load{"files", 1 << 10}
	large    = load{"large", 1 << 20}
)

// diskEnv is a directory on another file system than that for temporary files.
const diskEnv = "LONGSHORE_BENCH_DISK"

// onVolumes runs a benchmark in the directory for temporary files, for which
// .ci/bench mounts a file system with a journal, and in memory and on the disk, with
// names of their own.
func onVolumes(b *testing.B, run func(b *testing.B, prefix, dir string)) {
	run(b, "", os.TempDir())
	for prefix, dir := range map[string]string{"tmpfs/": "/dev/shm", "disk/": os.Getenv(diskEnv)} {
		if dir != "" && exists(dir) {
			run(b, prefix, dir)
		}
	}
}

// dirOn is a new directory below dir.
func dirOn(b *testing.B, dir string) string {
	b.Helper()
	dir, err := os.MkdirTemp(dir, "longshore-bench-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// backlogOf is how many requests the benchmarks of a whole host carry.
const backlogOf = 10_000

// BenchmarkPageDrain empties a backlog of 10,000 requests through "longshore serve"
// as a process, into the page's history: the rate from exec to the last result that
// says sent, the process's own processor time and its writes, its start included, and
// its most memory over that at rest. The floors are the durable poller and the
// straight line. The syncs are counted in a run of 1,000 requests by itself, under a
// tracer, which makes everything slower.
func BenchmarkPageDrain(b *testing.B) {
	onVolumes(b, func(b *testing.B, prefix, dir string) {
		for _, l := range []load{messages, files} {
			for _, many := range []int{1, 100} {
				b.Run(fmt.Sprintf("%s%s/%d", prefix, l.name, many), func(b *testing.B) {
					drainWhole(b, l, func() *site { return newPageSite(b, dirOn(b, dir), many) })
				})
			}
		}
	})
}

// BenchmarkSlackDrain is the same for Slack's server on the loopback, which shares
// the processors.
func BenchmarkSlackDrain(b *testing.B) {
	for _, l := range []load{messages, files} {
		for _, many := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", l.name, many), func(b *testing.B) {
				drainWhole(b, l, func() *site { return newSlackSite(b, b.TempDir(), many) })
			})
		}
	}
}

// newSlackSite is a site on Slack, with its configuration in a file.
func newSlackSite(b testing.TB, dir string, n int) *site {
	b.Helper()
	s := newSite(b, dir, n, noLimits)
	s.slack = slacktest.New(b)
	rate := "rate: {per_minute: 100000000, burst: 1000000}"
	text := strings.Builder{}
	fmt.Fprintf(&text, "limits: %s\nchannels: {slack: {bot_token_file: bot, app_token_file: app, %s}}\ngroups:\n", noLimits, rate)
	for _, folder := range s.folders {
		chat := s.slack.AddChannel(slacktest.Public, folder)
		s.chats = append(s.chats, "slack:"+chat)
		fmt.Fprintf(&text, "  - {name: %s, folder: %s, chat: \"slack:%s\"}\n", folder, folder, chat)
	}
	for name, content := range map[string]string{"longshore.yaml": text.String(), "bot": s.slack.BotToken, "app": s.slack.AppToken} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func drainWhole(b *testing.B, l load, newSite func() *site) {
	var took, processor, written, peak, floor, direct times
	for b.Loop() {
		s := newSite()
		idle := s.memoryAtRest()
		poller := s.newPoller()
		s.fillWith(0, backlogOf, l)
		floor = append(floor, poller.drain())
		s.fillWith(0, backlogOf, l)
		direct = append(direct, poller.drainStraight())
		poller.close()
		s.fillWith(0, backlogOf, l)
		d := s.drainWhole(backlogOf)
		took, processor = append(took, d.took), append(processor, d.processor)
		written, peak = append(written, time.Duration(d.written)), append(peak, time.Duration(d.peak-idle))
		b.Log("on", s.volume())
	}
	b.ReportMetric(backlogOf*1e9/took.p50(), "told/s")
	b.ReportMetric(backlogOf*1e9/floor.p50(), "poller/s")
	b.ReportMetric(backlogOf*1e9/direct.p50(), "straight/s")
	b.ReportMetric(floor.p50()/took.p50(), "x-poller")
	b.ReportMetric(direct.p50()/took.p50(), "told-x-straight")
	b.ReportMetric(processor.p50()/backlogOf/1e3, "cpu-µs/request")
	b.ReportMetric(written.p50()/backlogOf/1024, "KiB/request")
	b.ReportMetric(peak.p50()/(1<<20), "peak-MiB")
	s := newSite()
	s.fillWith(0, 1000, l)
	if done := s.operations(func() bool { return s.told(1000) }); done != nil {
		b.ReportMetric(float64(done["sync"])/1000, "syncs/request")
		b.ReportMetric(float64(done["write"])/1000, "writes/request")
		b.ReportMetric(float64(done["create"])/1000, "creates/request")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPageDrop is the time from the rename of a request to the message's event
// on the page, through "longshore serve" as a process, beside the work of the durable
// poller for a request, without its wait.
func BenchmarkPageDrop(b *testing.B) {
	onVolumes(b, func(b *testing.B, prefix, dir string) {
		for _, l := range []load{messages, files, large} {
			b.Run(prefix+l.name, func(b *testing.B) {
				s, polled := newPageSite(b, dirOn(b, dir), 1), newPageSite(b, dirOn(b, dir), 1)
				dropWhole(b, l, s, polled, s.events(s.servePage()))
			})
		}
	})
}

// BenchmarkSlackDrop is the same until Slack's server on the loopback shows the
// message.
func BenchmarkSlackDrop(b *testing.B) {
	for _, l := range []load{messages, files, large} {
		b.Run(l.name, func(b *testing.B) {
			s, polled := newSlackSite(b, b.TempDir(), 1), newSlackSite(b, b.TempDir(), 1)
			events := make(chan time.Time, 16)
			shows := slacktest.Fault{After: func() { events <- time.Now() }}
			s.slack.Always("chat.postMessage", shows)
			s.slack.Always("files.completeUploadExternal", shows)
			host := s.serveCommand()
			if err := host.Start(); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.kill(host) })
			s.slack.Wait(b, "the host's connection", func() bool { return s.slack.Connections() > 0 })
			dropWhole(b, l, s, polled, events)
		})
	}
}

func dropWhole(b *testing.B, l load, s, polled *site, events <-chan time.Time) {
	poller := polled.newPoller()
	defer poller.close()
	var shown, floor times
	for b.Loop() {
		for range 200 {
			polled.fillWith(len(floor), 1, l)
			floor = append(floor, poller.drain())
			place := s.request(len(shown), l)
			<-time.After(unchanging)
			start := time.Now()
			place()
			shown = append(shown, (<-events).Sub(start))
		}
	}
	b.Log("on", s.volume())
	report(b, shown, floor)
	b.ReportMetric(shown.at(0.99)/shown.p50(), "x-p50")
}

// unchanging is longer than a file must not have changed to be copied at once.
const unchanging = 50 * time.Millisecond

// fillWith puts n requests into the groups' queues, in turn and numbered from first,
// and onto the disk.
func (s *site) fillWith(first, n int, l load) {
	s.Helper()
	for i := first; i < first+n; i++ {
		s.request(i, l)()
	}
	s.synced()
}

// request makes a request for a text, or for a file in the group's workspace, and
// returns what puts it into the queue.
func (s *site) request(i int, l load) (place func()) {
	s.Helper()
	folder, name := s.folders[i%len(s.folders)], fmt.Sprintf("%08d", i)
	if l.size == 0 {
		return func() { s.put(folder, i) }
	}
	path := filepath.Join(s.cfg.Layout().Workspace(folder), name+".txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte(name), l.size/len(name)), 0o644); err != nil {
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
	if s.slack != nil {
		host.Env = append(os.Environ(), slackEnv+"="+s.slack.URL())
	}
	return host
}

// kill may be called again.
func (s *site) kill(host *exec.Cmd) {
	_ = host.Process.Kill()
	_ = host.Wait()
}

// told says whether the last request of each queue, of n, has its result.
func (s *site) told(n int) bool {
	s.Helper()
	for i := n - len(s.folders); i < n; i++ {
		folder, id := s.folders[i%len(s.folders)], fmt.Sprintf("%08d", i)
		switch r, err := s.client(folder).Status(id); {
		case err == nil && r.Status.Final() && r.Status != ipc.Sent:
			s.Fatalf("%s: %+v", id, r)
		case err != nil || r.Status != ipc.Sent:
			return false
		}
	}
	return true
}

// wholeDrain is what a drain took and used.
type wholeDrain struct {
	took, processor time.Duration
	written, peak   int64 // bytes; the most memory
}

// drainWhole runs a host until the last request of each queue is told, and counts
// what the platform has.
func (s *site) drainWhole(n int) (d wholeDrain) {
	s.Helper()
	host, start := s.serveCommand(), time.Now()
	if err := host.Start(); err != nil {
		s.Fatal(err)
	}
	defer s.kill(host)
	for !s.told(n) {
		if <-time.After(5 * time.Millisecond); time.Since(start) > patience {
			s.Fatal("the host is not through with its backlog")
		}
	}
	d.took = time.Since(start)
	d.written = s.figure(host, "io", "write_bytes: %d")
	d.peak = s.figure(host, "status", "VmHWM: %d") << 10
	s.kill(host)
	d.processor = host.ProcessState.UserTime() + host.ProcessState.SystemTime()
	if all, different := s.count(); all != n || different != n {
		s.Fatalf("the platform has %d messages, %d different, of %d", all, different, n)
	}
	return d
}

// figure is a number of a file that the system has about a process.
func (s *site) figure(host *exec.Cmd, file, form string) (n int64) {
	s.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", host.Process.Pid, file))
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if got, _ := fmt.Sscanf(line, form, &n); got == 1 {
			return n
		}
	}
	s.Fatalf("%s has no %s", file, form)
	return 0
}

// memoryAtRest is what a host uses that has nothing to do.
func (s *site) memoryAtRest() int64 {
	s.Helper()
	host := s.serveCommand()
	if err := host.Start(); err != nil {
		s.Fatal(err)
	}
	defer s.kill(host)
	<-time.After(time.Second)
	return s.figure(host, "status", "VmRSS: %d") << 10
}

// count counts the messages that the platform has, and those that differ.
func (s *site) count() (all, different int) {
	s.Helper()
	if s.slack != nil {
		seen := map[string]bool{}
		for _, chat := range s.chats {
			for _, m := range s.slack.FromBot(strings.TrimPrefix(chat, "slack:")) {
				all++
				for _, f := range m.Files {
					m.Text += f.Name
				}
				seen[m.Text] = true
			}
		}
		return all - s.polled, len(seen)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.cfg.Layout().Channel("web"), "web.db")+"?mode=ro")
	if err == nil {
		defer db.Close()
		err = db.QueryRow(`SELECT count(*), count(DISTINCT text || coalesce(name, '')) FROM messages LEFT JOIN files ON message = seq`).Scan(&all, &different)
	}
	if err != nil {
		s.Fatal(err)
	}
	return all, different
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
