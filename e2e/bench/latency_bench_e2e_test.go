//go:build e2e

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/serve"
)

// dropper is a running host into whose queue requests are dropped.
type dropper struct {
	*stage.Site
	*stage.Sink
	host *serve.Host
	done chan string // a folder, for each request unlinked and each result written
	n    int
}

func newDropper(b *testing.B, dir string, n int) *dropper {
	d := &dropper{Site: stage.NewSite(b, dir, n, stage.NoLimits), Sink: stage.NewSink(1 << 18), done: make(chan string, 1<<20)}
	d.host = d.Open(d.follow, d.Sink)
	return d
}

// follow notes a request's last steps.
func (d *dropper) follow(folder, _, step string) {
	if step == "unlinked" || step == "result" {
		d.done <- folder
	}
}

// once renames a request into a queue after the gap and returns the time until
// the channel is called. It waits until the host is through with it.
func (d *dropper) once(b *testing.B, folder string) time.Duration {
	b.Helper()
	d.n++
	tmp := filepath.Join(d.Messages(folder), ".tmp")
	if err := os.WriteFile(tmp, []byte(`{"type":"message","text":"measured"}`), 0o644); err != nil {
		b.Fatal(err)
	}
	<-time.After(gap)
	start := time.Now()
	if err := os.Rename(tmp, filepath.Join(d.Messages(folder), fmt.Sprintf("m%08d.json", d.n))); err != nil {
		b.Fatal(err)
	}
	took := d.arrives(groups.JID("mem:" + folder)).Sub(start)
	d.settles(folder)
	return took
}

// arrives is when the channel was called for a chat.
func (d *dropper) arrives(chat groups.JID) time.Time {
	for a := range d.Called {
		if a.Chat == chat {
			return a.At
		}
	}
	panic("unreachable")
}

func (d *dropper) settles(folder string) {
	for left := 2; left > 0; {
		if <-d.done == folder {
			left--
		}
	}
}

// BenchmarkDropToChannel is the time from the rename of a request to the call
// of the channel, beside that from a rename to a bare inotify event, and beside
// a poller that looks once a second. In memory no sync costs anything: that is
// the undurable part.
func BenchmarkDropToChannel(b *testing.B) {
	for _, kind := range []string{"memory", "disk"} {
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			if kind == "memory" {
				dir = memoryDir(b)
			}
			d := newDropper(b, dir, 1)
			d.RunHost(d.host)
			raw, line := newRenamed(b, dir), newStraight(b, dir)
			var ours, floor, direct times
			for b.Loop() {
				floor = append(floor, raw.once(b))
				direct = append(direct, line.once())
				ours = append(ours, d.once(b, "g0"))
			}
			report(b, ours, floor)
			reportStraight(b, ours, direct)
			b.ReportMetric(poll(b).p50()/ours.p50(), "x-poller")
		})
	}
}

// poll is how long drops at odd moments wait for a loop that lists its
// directory once a second.
func poll(b *testing.B) (waits times) {
	dir := b.TempDir()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	<-tick.C
	for i := range 5 {
		<-time.After(time.Duration(100+200*i) * time.Millisecond)
		start := time.Now()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
		<-tick.C
		if _, err := os.ReadDir(dir); err != nil {
			b.Fatal(err)
		}
		waits = append(waits, time.Since(start))
	}
	return waits
}

// caller calls the tools of a host's group.
type caller struct {
	*dropper
	mcp      *client.Client
	answered time.Duration // the last call took until its answer
}

func newCaller(b *testing.B, dir string) *caller {
	c := &caller{dropper: newDropper(b, dir, 1)}
	c.RunHost(c.host)
	c.connect(b, sender.Config{IPC: c.Cfg.Layout().IPC("g0", ""), Chat: "mem:g0", Folder: "g0", Wait: time.Minute})
	return c
}

// newFarCaller is newCaller with the host's door in place of the queue.
func newFarCaller(b *testing.B, dir string) *caller {
	c := &caller{dropper: &dropper{Site: stage.NewSite(b, dir, 1, stage.NoLimits), Sink: stage.NewSink(1 << 18), done: make(chan string, 1<<20)}}
	c.Cfg.Remote.Listen = stage.FreeAddress(b)
	c.host = c.Open(c.follow, c.Sink)
	c.RunHost(c.host)
	var made tokens.NewToken
	stage.Eventually(b, "the host answers", func() (ok bool) {
		var err error
		made, err = operator.NewClient(operator.ControlDir(c.Cfg.Layout())).MakeToken(b.Context(), operator.TokenOrder{Group: "g0"})
		return err == nil
	})
	host, err := remoteclient.New("http://"+c.Cfg.Remote.Listen, made.Secret)
	if err != nil {
		b.Fatal(err)
	}
	c.connect(b, sender.Config{Remote: host, Wait: time.Minute})
	return c
}

// connect has the tools work as configured.
func (c *caller) connect(b *testing.B, with sender.Config) {
	b.Helper()
	var err error
	if c.mcp, err = client.NewInProcessClient(tools.Server(sender.New(with), "bench")); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.mcp.Close() })
	if _, err := c.mcp.Initialize(b.Context(), mcp.InitializeRequest{}); err != nil {
		b.Fatal(err)
	}
}

// call is the time from a tool's call to the channel's.
func (c *caller) call(b *testing.B) time.Duration {
	b.Helper()
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = "send_message", map[string]any{"text": "measured"}
	<-time.After(gap)
	start := time.Now()
	result, err := c.mcp.CallTool(b.Context(), req)
	if err != nil || result.IsError {
		b.Fatal(result, err)
	}
	c.answered = time.Since(start)
	took := c.arrives("mem:g0").Sub(start)
	c.settles("g0")
	return took
}

// floor is what no host can avoid: a question to the server and its answer, a file
// written, and an event of its rename.
func (c *caller) floor(b *testing.B, raw *renamed) time.Duration {
	b.Helper()
	start := time.Now()
	c.ask(b)
	if err := os.WriteFile(filepath.Join(raw.dir, ".floor"), make([]byte, 200), 0o644); err != nil {
		b.Fatal(err)
	}
	return time.Since(start) + raw.once(b)
}

// ask is the cheapest call of the tools' server that there is; a ping no longer
// sends anything.
func (c *caller) ask(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	ask := mcp.CallToolRequest{}
	ask.Params.Name, ask.Params.Arguments = "delivery_status", map[string]any{"id": "none"}
	if _, err := c.mcp.CallTool(b.Context(), ask); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// BenchmarkCallToChannel is the time from an MCP tools/call to the call of the
// channel, in memory, beside the sum of its unavoidable steps.
func BenchmarkCallToChannel(b *testing.B) {
	dir := memoryDir(b)
	c, raw, line := newCaller(b, dir), newRenamed(b, dir), newStraight(b, dir)
	var ours, floor, direct times
	for b.Loop() {
		floor = append(floor, c.floor(b, raw))
		direct = append(direct, c.ask(b)+line.once())
		ours = append(ours, c.call(b))
	}
	report(b, ours, floor)
	reportStraight(b, ours, direct)
	b.ReportMetric(poll(b).p50()/ours.p50(), "x-poller")
}

// BenchmarkCallOverHTTP is the same with the tools on another machine, by HTTP on
// loopback, beside the same call through the queue.
func BenchmarkCallOverHTTP(b *testing.B) {
	distant, queue := newFarCaller(b, memoryDir(b)), newCaller(b, memoryDir(b))
	var ours, floor, answer, queued times
	for b.Loop() {
		floor, queued = append(floor, queue.call(b)), append(queued, queue.answered)
		ours, answer = append(ours, distant.call(b)), append(answer, distant.answered)
	}
	report(b, ours, floor)
	b.ReportMetric(answer.p50()/1e3, "answer-µs")
	b.ReportMetric(queued.p50()/1e3, "queue-answer-µs")
	b.ReportMetric(answer.p50()/queued.p50(), "x-queue-answer")
}

// BenchmarkDurableCall is what durability adds to a call, in units of one
// fdatasync; and how many requests a second are recorded when they come in
// groups of 64.
func BenchmarkDurableCall(b *testing.B) {
	b.Run("1", func(b *testing.B) {
		disk, memory, log := newCaller(b, b.TempDir()), newCaller(b, memoryDir(b)), newLogFile(b)
		var ours, undurable, syncs times
		for b.Loop() {
			undurable = append(undurable, memory.call(b))
			syncs = append(syncs, fdatasync(b, log, 4096))
			ours = append(ours, disk.call(b))
		}
		b.ReportMetric(ours.p50()/1e3, "p50-µs")
		b.ReportMetric(undurable.p50()/1e3, "undurable-µs")
		b.ReportMetric(syncs.p50()/1e3, "floor-µs")
		b.ReportMetric((ours.p50()-undurable.p50())/syncs.p50(), "syncs")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("64", benchmarkRecord)
}

// benchmarkRecord gives the bridge 64 requests at a time, from a queue, so that the
// look for each request's file is part of it: its client may have withdrawn it.
func benchmarkRecord(b *testing.B) {
	s := stage.NewSite(b, b.TempDir(), 1, stage.NoLimits)
	h := s.Open(nil, stage.NewSink(1<<18))
	defer h.Close()
	log, n := newLogFile(b), 0
	var ours, floor times
	for b.Loop() {
		floor = append(floor, fdatasync(b, log, 64*300))
		for range 64 {
			n++
			s.Put("g0", n)
		}
		batch, end := siteBatch(s, "g0")
		start := time.Now()
		h.Bridge.Carry(b.Context(), batch, threadless{})
		ours = append(ours, time.Since(start))
		end()
	}
	b.ReportMetric(64e9/ours.p50(), "records/s")
	b.ReportMetric(64e9/floor.p50(), "floor/s")
	b.ReportMetric(ours.p50()/floor.p50(), "x-floor")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIsolation is a request's way while a neighbour's send takes long,
// with more behind it, beside the same while nothing else goes on.
func BenchmarkIsolation(b *testing.B) {
	d := newDropper(b, b.TempDir(), 2)
	var gate chan struct{}
	open := make(chan struct{})
	close(open)
	d.Hang = func(chat groups.JID) <-chan struct{} {
		if chat == "mem:g0" {
			return gate
		}
		return open
	}
	d.RunHost(d.host)
	var beside, alone times
	for b.Loop() {
		for range 10 {
			alone = append(alone, d.once(b, "g1"))
		}
		gate = make(chan struct{})
		for i := range 10 {
			d.Put("g0", d.n*100+i)
		}
		d.arrives("mem:g0")
		for range 10 { // all are recorded and unlinked; one is on its way
			for <-d.done != "g0" {
			}
		}
		for range 10 {
			beside = append(beside, d.once(b, "g1"))
		}
		close(gate)
		for range 10 {
			for <-d.done != "g0" {
			}
		}
	}
	report(b, beside, alone)
}

// BenchmarkScale is a request's way on a host with many groups, a long
// backlog, a long history, beside that on one with nothing of it. It is
// measured in memory, where no sync hides what it costs.
func BenchmarkScale(b *testing.B) {
	for _, kind := range []string{"groups=1000", "backlog=100000", "history=100000"} {
		b.Run(kind, func(b *testing.B) {
			many := 2
			if kind == "groups=1000" {
				many = 1000
			}
			small, large := newDropper(b, memoryDir(b), 2), newDropper(b, memoryDir(b), many)
			if kind == "backlog=100000" {
				large.Later = func(chat groups.JID) bool { return chat == "mem:g1" }
			}
			large.RunHost(large.host)
			small.RunHost(small.host)
			if many == 2 {
				large.load(b, 100_000)
			}
			var ours, floor times
			for b.Loop() {
				floor = append(floor, small.once(b, "g0"))
				ours = append(ours, large.once(b, "g0"))
			}
			report(b, ours, floor)
		})
	}
}

// load records deliveries of g1 and waits until they are sent, or have been
// tried once where the channel does not take them.
func (d *dropper) load(b *testing.B, n int) {
	b.Helper()
	for at := 0; at < n; at += 1000 {
		ds := make([]records.Delivery, 1000)
		for i := range ds {
			ds[i] = records.Delivery{Key: fmt.Sprintf("%032x", at+i), Folder: "g1", Channel: "mem", Chat: "mem:g1", Parts: []records.Part{{Text: "old"}}}
		}
		if err := d.host.Outbox.Put(b.Context(), ds); err != nil {
			b.Fatal(err)
		}
	}
	for d.Later == nil && n > 0 {
		<-d.Called
		n--
	}
}
