//go:build e2e

package pair

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// manyEnv has the test below measure with 10,000 groups and 200,000 deliveries. A machine that does other
// things too is too slow for its bound, so the short form only says how long it took.
const manyEnv = "LONGSHORE_TEST_MANY"

// A host that takes over must not read all that waits first.
func TestManyGroupsAndDeliveriesDelayNoTakeOver(t *testing.T) {
	chats, waiting, long := 500, 5_000, os.Getenv(manyEnv) != ""
	if long {
		chats, waiting = 10_000, 200_000
	}
	p := newPairOn(t, pgtest.Start(t), nil, 10*time.Second)
	for _, h := range p.hosts {
		h.groups = chats
		h.write(p)
	}
	a, b := p.begin()
	p.fill(chats, waiting)
	a.kill()
	began := time.Now()
	stage.Await(t, "b owns", b.owns)
	took := time.Since(began)
	p.send()
	t.Logf("%d groups, %d deliveries: b owned after %v, and had sent a new text after %v", chats, waiting, took, time.Since(began))
	if bound := p.lease + 2*time.Second; long && took > bound {
		t.Errorf("no host owned for %v, longer than %v", took, bound)
	}
	stage.Await(t, "b sends what waited", func() bool { return b.pending() < waiting*9/10 })
	t.Logf("it had sent a tenth of them after %v", time.Since(began))
	b.kill() // nothing moves now
	if n := p.number(`SELECT count(*) FROM (SELECT text FROM page_message WHERE text LIKE 'waiting %' UNION ALL
		SELECT text FROM part WHERE text LIKE 'waiting %' AND state IN ('queued', 'sending')) AS x`); n != waiting {
		t.Errorf("%d of %d deliveries are shown or wait", n, waiting)
	}
	if n := p.number(`SELECT count(*) FROM (SELECT text FROM page_message WHERE text LIKE 'waiting %' GROUP BY text HAVING count(*) > 1) AS x`); n != 0 {
		t.Errorf("%d deliveries are shown twice", n)
	}
	if n := p.number(`SELECT count(*) FROM (SELECT text, lag(text) OVER (PARTITION BY chat ORDER BY seq) AS before FROM page_message WHERE text LIKE 'waiting %') AS x WHERE before > text`); n != 0 {
		t.Errorf("%d deliveries are shown before an earlier one", n)
	}
}

// pending is how many messages wait in the host's outbox, as its metrics say.
func (h *host) pending() (n int) {
	_, body := get("http://"+h.metrics+"/metrics", "")
	_, after, found := strings.Cut(body, "\nlongshore_outbox_pending_parts ")
	if _, err := fmt.Sscan(after, &n); !found || err != nil {
		return math.MaxInt
	}
	return n
}

// number is what the database answers to a statement.
func (p *pair) number(statement string) (n int) {
	p.Helper()
	out, errs := p.db.Psql("postgres", statement)
	if _, err := fmt.Sscan(out, &n); err != nil {
		p.Fatalf("%s: %v %s", statement, err, errs)
	}
	return n
}

// fill puts deliveries into the outbox, as if the owner had accepted them. It does not hear of them.
func (p *pair) fill(chats, deliveries int) {
	p.Helper()
	dir := p.TempDir()
	stage.Write(p.T, filepath.Join(dir, "postgres"), p.db.URL("postgres"))
	cfg, err := config.Parse(filepath.Join(dir, "longshore.yaml"), []byte("state: {directory: state, postgres: {from_file: postgres}}\n"), os.Getenv, stage.AllPlatforms())
	if err == nil {
		err = cfg.Layout().Prepare(nil)
	}
	if err != nil {
		p.Fatal(err)
	}
	ctx := context.WithoutCancel(p.Context())
	db, err := state.Open(ctx, serve.StateOf(cfg), slog.New(slog.DiscardHandler))
	if err != nil {
		p.Fatal(err)
	}
	defer db.Close()
	o, err := outbox.Open(ctx, outbox.Options{State: db})
	if err != nil {
		p.Fatal(err)
	}
	defer o.Close()
	began := time.Now()
	for n := 0; n < deliveries; {
		var some []records.Delivery
		for ; n < deliveries && len(some) < 1000; n++ {
			folder, key := fmt.Sprintf("g%d", n%chats), fmt.Sprintf("%032x", n)
			some = append(some, records.Delivery{Key: key, Request: key, Folder: folder, Channel: "web", Chat: groups.JID("web:" + folder), Created: began,
				Parts: []records.Part{{MessageID: key, Text: fmt.Sprintf("waiting %06d", n), State: records.Queued}}})
		}
		if err := o.Put(ctx, some); err != nil {
			p.Fatal(err)
		}
	}
	p.Logf("put %d deliveries in %v", deliveries, time.Since(began))
}

// further are the groups of a host beside those of its sea.
func (h *host) further() string {
	var all strings.Builder
	for n := range h.groups {
		fmt.Fprintf(&all, `, {folder: g%d, chat: "web:g%d"}`, n, n)
	}
	return all.String()
}
