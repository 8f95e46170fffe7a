//go:build e2e

package bench

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/ipc"
)

var (
	messages = stage.Load{Name: "messages", Size: 0}
	files    = stage.Load{Name: "files", Size: 1 << 10}
	large    = stage.Load{Name: "large", Size: 1 << 20}
)

// diskEnv is a directory on another file system than that for temporary files.
const diskEnv = "LONGSHORE_BENCH_DISK"

// onVolumes runs a benchmark in the directory for temporary files, for which
// .ci/bench mounts a file system with a journal, and in memory and on the disk, with
// names of their own.
func onVolumes(b *testing.B, run func(b *testing.B, prefix, dir string)) {
	run(b, "", os.TempDir())
	for prefix, dir := range map[string]string{"tmpfs/": "/dev/shm", "disk/": os.Getenv(diskEnv)} {
		if dir != "" && stage.Exists(dir) {
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
		for _, l := range []stage.Load{messages, files} {
			for _, many := range []int{1, 100} {
				b.Run(fmt.Sprintf("%s%s/%d", prefix, l.Name, many), func(b *testing.B) {
					drainWhole(b, l, func() *stage.Site { return stage.NewPageSite(b, dirOn(b, dir), many) })
				})
			}
		}
	})
}

// BenchmarkSlackDrain is the same for Slack's server on the loopback, which shares
// the processors.
func BenchmarkSlackDrain(b *testing.B) {
	for _, l := range []stage.Load{messages, files} {
		for _, many := range []int{1, 100} {
			b.Run(fmt.Sprintf("%s/%d", l.Name, many), func(b *testing.B) {
				drainWhole(b, l, func() *stage.Site { return newSlackSite(b, b.TempDir(), many) })
			})
		}
	}
}

// newSlackSite is a site on Slack, with its configuration in a file.
func newSlackSite(b testing.TB, dir string, n int) *stage.Site {
	b.Helper()
	s := stage.NewSite(b, dir, n, stage.NoLimits)
	s.Slack = slacktest.New(b)
	rate := "rate: {per_minute: 100000000, burst: 1000000}"
	text := strings.Builder{}
	fmt.Fprintf(&text, "limits: %s\nchannels: {slack: {bot_token_file: bot, app_token_file: app, %s}}\ngroups:\n", stage.NoLimits, rate)
	for _, folder := range s.Folders {
		chat := s.Slack.AddChannel(slacktest.Public, folder)
		s.Chats = append(s.Chats, "slack:"+chat)
		fmt.Fprintf(&text, "  - {name: %s, folder: %s, chat: \"slack:%s\"}\n", folder, folder, chat)
	}
	for name, content := range map[string]string{"longshore.yaml": text.String(), "bot": s.Slack.BotToken, "app": s.Slack.AppToken} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func drainWhole(b *testing.B, l stage.Load, newSite func() *stage.Site) {
	var took, processor, written, peak, floor, direct times
	for b.Loop() {
		s := newSite()
		idle := memoryAtRest(s)
		poller := newPoller(s)
		fillWith(s, 0, backlogOf, l)
		floor = append(floor, pollerDrain(poller))
		fillWith(s, 0, backlogOf, l)
		direct = append(direct, pollerDrainStraight(poller))
		poller.Close()
		fillWith(s, 0, backlogOf, l)
		d := siteDrainWhole(s, backlogOf)
		took, processor = append(took, d.Took), append(processor, d.Processor)
		written, peak = append(written, time.Duration(d.Written)), append(peak, time.Duration(d.Peak-idle))
		b.Log("on", volume(s))
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
	fillWith(s, 0, 1000, l)
	if done := s.Operations(func() bool { return told(s, 1000) }); done != nil {
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
		for _, l := range []stage.Load{messages, files, large} {
			b.Run(prefix+l.Name, func(b *testing.B) {
				s, polled := stage.NewPageSite(b, dirOn(b, dir), 1), stage.NewPageSite(b, dirOn(b, dir), 1)
				dropWhole(b, l, s, polled, events(s, servePage(s)))
			})
		}
	})
}

// BenchmarkSlackDrop is the same until Slack's server on the loopback shows the
// message.
func BenchmarkSlackDrop(b *testing.B) {
	for _, l := range []stage.Load{messages, files, large} {
		b.Run(l.Name, func(b *testing.B) {
			s, polled := newSlackSite(b, b.TempDir(), 1), newSlackSite(b, b.TempDir(), 1)
			events := make(chan time.Time, 16)
			shows := slacktest.Fault{After: func() { events <- time.Now() }}
			s.Slack.Always("chat.postMessage", shows)
			s.Slack.Always("files.completeUploadExternal", shows)
			host := s.ServeCommand()
			if err := host.Start(); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Kill(host) })
			s.Slack.Wait(b, "the host's connection", func() bool { return s.Slack.Connections() > 0 })
			dropWhole(b, l, s, polled, events)
		})
	}
}

func dropWhole(b *testing.B, l stage.Load, s, polled *stage.Site, events <-chan time.Time) {
	poller := newPoller(polled)
	defer poller.Close()
	var shown, floor times
	for b.Loop() {
		for range 200 {
			fillWith(polled, len(floor), 1, l)
			floor = append(floor, pollerDrain(poller))
			place := request(s, len(shown), l)
			<-time.After(unchanging)
			start := time.Now()
			place()
			shown = append(shown, (<-events).Sub(start))
		}
	}
	b.Log("on", volume(s))
	report(b, shown, floor)
	b.ReportMetric(shown.at(0.99)/shown.p50(), "x-p50")
}

// unchanging is longer than a file must not have changed to be copied at once.
const unchanging = 50 * time.Millisecond

// fillWith puts n requests into the groups' queues, in turn and numbered from first,
// and onto the disk.
func fillWith(s *stage.Site, first, n int, l stage.Load) {
	s.Helper()
	for i := first; i < first+n; i++ {
		request(s, i, l)()
	}
	synced(s)
}

// request makes a request for a text, or for a file in the group's workspace, and
// returns what puts it into the queue.
func request(s *stage.Site, i int, l stage.Load) (place func()) {
	s.Helper()
	folder, name := s.Folders[i%len(s.Folders)], fmt.Sprintf("%08d", i)
	if l.Size == 0 {
		return func() { s.Put(folder, i) }
	}
	path := filepath.Join(s.Cfg.Layout().Workspace(folder), name+".txt")
	if err := os.WriteFile(path, bytes.Repeat([]byte(name), l.Size/len(name)), 0o644); err != nil {
		s.Fatal(err)
	}
	return func() {
		s.Place(folder, name+".json", fmt.Sprintf(`{"type":"file","filePath":"/workspace/group/%s.txt"}`, name))
	}
}

// told says whether the last request of each queue, of n, has its result.
func told(s *stage.Site, n int) bool {
	s.Helper()
	for i := n - len(s.Folders); i < n; i++ {
		folder, id := s.Folders[i%len(s.Folders)], fmt.Sprintf("%08d", i)
		switch r, err := s.Client(folder).Status(id); {
		case err == nil && r.Status.Final() && r.Status != ipc.Sent:
			s.Fatalf("%s: %+v", id, r)
		case err != nil || r.Status != ipc.Sent:
			return false
		}
	}
	return true
}

// siteDrainWhole runs a host until the last request of each queue is told, and counts
// what the platform has.
func siteDrainWhole(s *stage.Site, n int) (d stage.WholeDrain) {
	s.Helper()
	host, start := s.ServeCommand(), time.Now()
	if err := host.Start(); err != nil {
		s.Fatal(err)
	}
	defer s.Kill(host)
	for !told(s, n) {
		if <-time.After(5 * time.Millisecond); time.Since(start) > stage.Patience {
			s.Fatal("the host is not through with its backlog")
		}
	}
	d.Took = time.Since(start)
	d.Written = figure(s, host, "io", "write_bytes: %d")
	d.Peak = figure(s, host, "status", "VmHWM: %d") << 10
	s.Kill(host)
	d.Processor = host.ProcessState.UserTime() + host.ProcessState.SystemTime()
	if all, different := count(s); all != n || different != n {
		s.Fatalf("the platform has %d messages, %d different, of %d", all, different, n)
	}
	return d
}

// figure is a number of a file that the system has about a process.
func figure(s *stage.Site, host *exec.Cmd, file, form string) (n int64) {
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
func memoryAtRest(s *stage.Site) int64 {
	s.Helper()
	host := s.ServeCommand()
	if err := host.Start(); err != nil {
		s.Fatal(err)
	}
	defer s.Kill(host)
	<-time.After(time.Second)
	return figure(s, host, "status", "VmRSS: %d") << 10
}

// count counts the messages that the platform has, and those that differ.
func count(s *stage.Site) (all, different int) {
	s.Helper()
	if s.Slack != nil {
		seen := map[string]bool{}
		for _, chat := range s.Chats {
			for _, m := range s.Slack.FromBot(strings.TrimPrefix(chat, "slack:")) {
				all++
				for _, f := range m.Files {
					m.Text += f.Name
				}
				seen[m.Text] = true
			}
		}
		return all - s.Polled, len(seen)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Cfg.Layout().Own(), "longshore.db")+"?mode=ro")
	if err == nil {
		defer db.Close()
		err = db.QueryRow(`SELECT count(*), count(DISTINCT text || coalesce(json_extract(nullif(file, ''), '$.name'), '')) FROM page_message`).Scan(&all, &different)
	}
	if err != nil {
		s.Fatal(err)
	}
	return all, different
}

// servePage runs a host until the benchmark ends and returns the page's address.
func servePage(s *stage.Site) string {
	s.Helper()
	_, url := s.ServeOnPage()
	return url
}

// events are the moments at which the page of the first group shows a message. They
// end with the host.
func events(s *stage.Site, url string) <-chan time.Time {
	s.Helper()
	r, err := http.Get(url + "/api/chats/" + s.Folders[0] + "/events")
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
