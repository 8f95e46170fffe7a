package operator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Health returns the handler of
//
//	/healthz   200 while the host runs; a restart is of no use
//	/readyz    200 while deliveries can be accepted and sent, else 503
//	/metrics   the host's metrics in Prometheus's format
//
// Both of the first have a JSON object with the findings that an operator has to know. A channel that is
// not connected does not make the host unready: accepted deliveries are stored.
func (l *Local) Health() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		newCollector(l),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	if l.Running != nil && l.Running.Cluster != nil {
		registry.MustRegister(newClusterCollector(l.Running.Cluster))
	}
	mux := &httpd.Mux{}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { l.well(w, r, "ok", false) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { l.well(w, r, "ready", true) })
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// Wellness is the answer of /healthz and /readyz. If the host is not ready, it is a refusal too.
type Wellness struct {
	Status   string            `json:"status"`
	Findings []finding.Finding `json:"findings"`
	Error    *refusal.Error    `json:"error,omitempty"`
}

func (l *Local) well(w http.ResponseWriter, r *http.Request, status string, ready bool) {
	all, _ := l.Findings(r.Context(), false) // Local returns no error
	answer := Wellness{Status: status, Findings: finding.Wrong(all)}
	code := http.StatusOK
	if why := RefusalOf(all); ready && why != nil {
		answer.Status, answer.Error, code = "unready", why, http.StatusServiceUnavailable
	}
	httpd.Answer(w, code, answer)
}

// checkTime limits a check and a reading of the state, since the disk or the database may hang. A check is not made
// more often.
const checkTime = 5 * time.Second

// collector asks a Local at each scrape and keeps no figures of its own.
type collector struct {
	local *Local
	up, held, waiting, parts, bytes, retained, inFlight, stalled, oldest,
	attempts, settled, errors, assistants, unanswered, free, floor,
	approvals, answers, backup, turns, troubles, tokens, cost, calls, modelTokens, modelCost, budget, refusals, faults, ahead, told *prometheus.Desc
}

func newCollector(l *Local) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("longshore_"+name, help, labels, nil)
	}
	return &collector{
		local:       l,
		up:          desc("channel_connected", "Whether a send now would reach the platform.", "channel"),
		held:        desc("channel_held", "Whether the channel waits for an operator.", "channel"),
		waiting:     desc("queue_requests", "Requests in the groups' queues that are not accepted yet."),
		parts:       desc("outbox_pending_parts", "Messages that were accepted and are not settled."),
		bytes:       desc("outbox_pending_bytes", "Bytes of their files."),
		retained:    desc("outbox_retained_bytes", "Bytes kept of failed messages, for a retry."),
		inFlight:    desc("outbox_sends_in_flight", "Sends that are under way."),
		stalled:     desc("outbox_sends_stalled", "Of these, those that make no progress."),
		oldest:      desc("outbox_oldest_seconds", "Age of the oldest delivery that is not settled; 0 where there is none."),
		attempts:    desc("outbox_attempts_total", "Attempts to send, since the host started."),
		settled:     desc("outbox_settled_total", "Messages by outcome, since the host started.", "outcome"),
		approvals:   desc("approvals_waiting", "Deliveries that wait for an approval."),
		answers:     desc("approvals_total", "Approvals by answer, since the host started: yes, no, none (nobody answered in time), lost (the bytes were gone).", "answer"),
		errors:      desc("errors_requests", "Refused requests in the errors folder."),
		assistants:  desc("assistants", "Assistants by state.", "state"),
		unanswered:  desc("assistants_unanswering", "Assistants that do not answer now, by cause.", "cause"),
		free:        desc("disk_free_bytes", "Free space on the file system of the state directory."),
		floor:       desc("disk_floor_bytes", "Free space below which nothing is accepted: limits.free_disk."),
		backup:      desc("backup_timestamp_seconds", "When the newest daily backup of the state was made."),
		turns:       desc("turns_total", "Turns of assistants that were answered, and attempts that broke, since the host started.", "group", "outcome"),
		troubles:    desc("trouble_total", "How often each cause began to keep a turn from its answer, or broke it, since the host started.", "cause"),
		tokens:      desc("tokens_total", "Tokens that assistants say they used since the host started; cached ones are not among input.", "group", "kind"),
		cost:        desc("cost_usd_total", "Cost in US dollars that assistants report since the host started.", "group"),
		calls:       desc("model_calls_total", "Calls of the model that the host passed on for an answer, since it started.", "group"),
		modelTokens: desc("model_tokens_total", "Tokens of these calls, as the model's service reports them; cached and written ones are not among input.", "group", "kind"),
		modelCost:   desc("model_cost_usd_total", "Cost of these calls in US dollars, by prices.", "group"),
		budget:      desc("budget_left_ratio", "Part of the group's budget that is left until it begins anew.", "group"),
		refusals:    desc("refused_total", "Requests that were refused since the host started, by code.", "code"),
		told:        desc("told_in_words_total", "Messages of members that could only be told in words since the host started.", "channel", "kind"),
		faults:      desc("finding", "What is wrong with the host now, by name and part, as longshore status says it.", "name", "part"),
		ahead:       desc("clock_ahead_seconds", "How far this machine's clock is ahead of the platforms'."),
	}
}

// Describe implements prometheus.Collector. Without descriptions, Prometheus
// checks the collector at each scrape, which changing labels need.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// scrapeTime limits a scrape, so that scrapes do not pile up if the outbox
// hangs.
const scrapeTime = 5 * time.Second

// figures are the metrics of one scrape.
type figures chan<- prometheus.Metric

func (f figures) gauge(d *prometheus.Desc, v float64, labels ...string) {
	f <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (f figures) count(d *prometheus.Desc, v float64, labels ...string) {
	f <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// Collect sends the present figures.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	out := figures(metrics)
	for _, ch := range c.local.Channels {
		out.gauge(c.up, number(channelOf(ch).Connected), ch.Name())
	}
	states, causes := map[string]int{}, map[string]int{}
	for _, a := range c.local.assistants() {
		states[a.State]++
		if a.Cause != "" {
			causes[a.Cause]++
		}
	}
	for cause, n := range causes {
		out.gauge(c.unanswered, float64(n), cause)
	}
	for state, n := range states {
		out.gauge(c.assistants, float64(n), state)
	}
	if n, err := CountJSON(c.local.Layout.Errors(), ReasonSuffix); err == nil {
		out.gauge(c.errors, float64(n))
	}
	out.gauge(c.waiting, float64(c.local.waiting()))
	out.gauge(c.free, float64(DiskOf(c.local.Layout.State).Free))
	c.turned(out)
	c.wrong(out)
	c.outbox(out)
}

// turned sends what the assistants did.
func (c *collector) turned(out figures) {
	for _, g := range c.local.configured() {
		if g.Assistant == "" {
			continue
		}
		t := c.local.turnsOf(g.Folder)
		out.count(c.turns, float64(t.Answered), g.Folder, "answered")
		out.count(c.turns, float64(t.Broken), g.Folder, "broken")
		out.count(c.tokens, float64(max(t.InputTokens-t.CachedTokens, 0)), g.Folder, "input")
		out.count(c.tokens, float64(t.CachedTokens), g.Folder, "cached")
		out.count(c.tokens, float64(t.OutputTokens), g.Folder, "output")
		out.count(c.cost, t.CostUSD, g.Folder)
	}
	c.spent(out)
	r := c.local.Running
	if r == nil {
		return
	}
	for _, t := range r.Assistants.Told() {
		out.count(c.told, float64(t.Count), t.Channel, t.Kind)
	}
	for why, n := range r.Assistants.Troubles() {
		out.count(c.troubles, float64(n), string(why))
	}
	for code, n := range r.Host.Refusals() {
		out.count(c.refusals, float64(n), code)
	}
}

// spent sends what calls of the models used that the host passed on.
func (c *collector) spent(out figures) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	for _, g := range c.local.configured() {
		s := c.local.spendingOf(ctx, g.Folder)
		if s == nil {
			continue
		}
		out.count(c.calls, float64(s.Calls), g.Folder)
		out.count(c.modelTokens, float64(s.Input), g.Folder, "input")
		out.count(c.modelTokens, float64(s.Cached), g.Folder, "cached")
		out.count(c.modelTokens, float64(s.Written), g.Folder, "written")
		out.count(c.modelTokens, float64(s.Output), g.Folder, "output")
		out.count(c.modelCost, s.USD, g.Folder)
		if s.Budget != "" {
			out.gauge(c.budget, s.Left, g.Folder)
		}
	}
}

// wrong sends what is wrong with the host.
func (c *collector) wrong(out figures) {
	if r := c.local.Running; r != nil {
		out.gauge(c.floor, float64(r.Host.FreeDisk()))
		if last := r.Machine.Backup().Last; !last.IsZero() {
			out.gauge(c.backup, float64(last.Unix()))
		}
		if ahead, ok := r.Machine.ClockAhead(); ok {
			out.gauge(c.ahead, ahead.Seconds())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	all, _ := c.local.Findings(ctx, false) // Local returns no error
	seen := map[string]bool{}
	for _, f := range finding.Wrong(all) {
		if !seen[f.ID()] {
			out.gauge(c.faults, 1, f.Name, f.Part)
		}
		seen[f.ID()] = true
	}
}

func (c *collector) outbox(out figures) {
	if c.local.Outbox == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	s, err := c.local.Outbox.Stats(ctx)
	if err != nil {
		return // a finding says why; an error would take the place of all metrics
	}
	for _, ch := range c.local.Channels {
		out.gauge(c.held, number(slices.Contains(s.Held, ch.Name())), ch.Name())
	}
	out.gauge(c.parts, float64(s.Pending))
	out.gauge(c.bytes, float64(s.Bytes))
	out.gauge(c.approvals, float64(s.Waiting))
	out.gauge(c.retained, float64(s.Retained))
	out.gauge(c.inFlight, float64(s.InFlight))
	out.gauge(c.stalled, float64(s.Stalled))
	age := 0.0
	if !s.Oldest.IsZero() {
		age = time.Since(s.Oldest).Seconds()
	}
	out.gauge(c.oldest, age)
	out.count(c.attempts, float64(s.Attempts))
	for outcome, n := range map[string]int64{"sent": s.Sent, "failed": s.Failed, "uncertain": s.Uncertain} {
		out.count(c.settled, float64(n), outcome)
	}
	for answer, n := range s.Answers {
		out.count(c.answers, float64(n), answer)
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// HealthServer serves Health beside the control socket. It only answers requests to the names of
// loopback and to Hosts, and never a page of another site: otherwise a website could read this
// machine's metrics through its operator's browser.
type HealthServer struct {
	Address string // host:port on loopback
	Hosts   []string
	Health  http.Handler
}

// Listen listens for Serve.
func (s HealthServer) Listen() (net.Listener, error) {
	return httpd.Address{Listen: s.Address}.Open()
}

// Serve serves until ctx is done, which is no error, and closes l.
func (s HealthServer) Serve(ctx context.Context, l net.Listener) error {
	guard := httpd.NewGuard(l.Addr(), "ask by the address in metrics.listen, or add the name to metrics.hosts", s.Hosts...)
	if err := (&httpd.Server{Handler: guard.Wrap(s.Health)}).Serve(ctx, l); err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
