//go:build e2e

package pair

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// PostgreSQL dies, and its standby is promoted. A pair whose commits waited for the standby goes on; another one
// waits until an operator says so, as the standby may lack commits.
func TestAStandbyOfPostgreSQLIsPromoted(t *testing.T) {
	for name, synchronous := range map[string]bool{"synchronous": true, "asynchronous": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			standby := server.Standby("second")
			if synchronous {
				server.Psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'second'; SELECT pg_reload_conf();")
			}
			p := newPairOn(t, server, nil, lease)
			for _, h := range p.hosts {
				stage.Write(t, filepath.Join(h.dir, "postgres"), fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=longshore dbname=postgres sslmode=disable target_session_attrs=read-write", server.Port, standby.Port))
			}
			p.begin()
			for range 5 {
				p.send()
			}
			if !synchronous {
				p.replayed(server, standby)
			}
			server.Stop(syscall.SIGQUIT)
			standby.Promote()
			if !synchronous {
				p.waitsForYield()
			}
			stage.Await(t, "a host owns", func() bool { return p.owner() != nil })
			for range 5 {
				p.send()
			}
			owner, _ := p.settled()
			p.whole(owner)
		})
	}
}

// replayed waits until a standby has all that its server has now.
func (p *pair) replayed(server, standby *pgtest.Server) {
	p.Helper()
	at, _ := server.Psql("postgres", "SELECT pg_current_wal_flush_lsn()")
	stage.Await(p, "the standby to have all", func() bool {
		has, _ := standby.Psql("postgres", "SELECT pg_last_wal_replay_lsn() >= '"+strings.TrimSpace(at)+"'")
		return has == "t\n"
	})
}

// waitsForYield fails the test unless both hosts wait for an operator, and then is the operator.
func (p *pair) waitsForYield() {
	p.Helper()
	for _, h := range p.hosts {
		stage.Await(p, h.name+" waits for an operator", func() bool {
			for _, f := range h.findings() {
				if f.Name == finding.ClusterPromoted && strings.Contains(f.Remedy, "yield --to "+h.name) {
					return true
				}
			}
			return false
		})
		if h.owns() {
			p.Errorf("%s owns a server that may lack commits", h.name)
		}
	}
	if out, err := p.hosts[1].command("cluster", "yield", "--to", "b").CombinedOutput(); err != nil {
		p.Fatalf("%v %s", err, out)
	}
	stage.Await(p, "b owns", p.hosts[1].owns)
}
