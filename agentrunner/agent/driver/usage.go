package driver

import (
	"math"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// usage is what a turn cost, as far as the CLI reports it.
type usage struct {
	input, cached, output int64   // tokens; cached ones are part of input
	cost                  float64 // US dollars, by the CLI's own price list; 0: not reported

	tokensAdd, costAdds bool // the figures count from the start of the session
}

// meter computes one turn's figures from figures that count from the start of a
// session.
type meter struct {
	session string // of the last turn
	total   usage  // the figures that the CLI reported then
}

// read returns a turn's own usage. whole means that it includes earlier turns, which
// this meter has not seen.
func (m *meter) read(before, after string, u usage) (own usage, whole bool) {
	was := m.total
	known := before == "" || before == m.session
	if before == "" {
		was = usage{}
	}
	m.session, m.total = after, u
	if !known {
		return u, u.tokensAdd || u.costAdds
	}
	if u.tokensAdd {
		u.input, u.cached, u.output = u.input-was.input, u.cached-was.cached, u.output-was.output
	}
	if u.costAdds {
		u.cost = math.Round((u.cost-was.cost)*1e6) / 1e6
	}
	return u, false
}

// report logs one line for a turn, for the operator, and tells the host what the turn
// itself has used. Of figures that include earlier turns it tells nothing.
func (d *Driver) report(t agent.Turn, a answer, took time.Duration) {
	u, whole := d.meter.read(t.Session, a.session, a.usage)
	own := u
	if whole && u.tokensAdd {
		own.input, own.cached, own.output = 0, 0, 0
	}
	if whole && u.costAdds {
		own.cost = 0
	}
	if t.Used != nil {
		t.Used(agent.Usage{Input: own.input, Cached: own.cached, Output: own.output, Cost: own.cost})
	}
	attrs := []any{"agent", d.name, "took", took.Round(10 * time.Millisecond),
		"input_tokens", u.input, "cached_tokens", u.cached, "output_tokens", u.output}
	if u.cost > 0 {
		attrs = append(attrs, "cost_usd", u.cost)
	}
	if whole {
		attrs = append(attrs, "since", "the session began")
	}
	d.o.Log.Info("turn ended", attrs...)
}
