//go:build e2e

package pair

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// told waits until the status of a host has a finding with these words in its cause and remedy, and fails
// the test if doctor does not say the remedy.
func (p *pair) told(h *host, cause, remedy string) {
	p.Helper()
	var last []finding.Finding
	stage.Await(p, fmt.Sprintf("%s to say %q", h.name, cause), func() bool {
		last = h.findings()
		for _, f := range last {
			if strings.Contains(f.Cause, cause) && strings.Contains(f.Remedy, remedy) {
				p.Logf("%s: %s: %s", f.Name, f.Cause, f.Remedy)
				return true
			}
		}
		return false
	})
	out, _ := h.command("doctor").CombinedOutput() // it fails, as there is a fault
	if !strings.Contains(strings.Join(strings.Fields(string(out)), " "), remedy) {
		p.Errorf("doctor does not say %q:\n%s", remedy, out)
	}
}

// exhaust takes all connections of the server, and ends those of the hosts.
func exhaust(t *testing.T, db *pgtest.Server) (release func()) {
	t.Helper()
	var all []*pgx.Conn
	for full := 0; full < 3; { // a host may have taken the place of a session that was ended
		c, err := pgx.Connect(t.Context(), db.URL("postgres"))
		if err == nil {
			all, full = append(all, c), 0
			continue
		}
		if full++; postgres.Code(err) != "53300" || len(all) == 0 {
			t.Fatal(err)
		}
		if _, err := all[0].Exec(t.Context(), `SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE application_name LIKE 'longshore%'`); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d connections are taken", len(all))
	return func() {
		for _, c := range all {
			_ = c.Close(t.Context())
		}
	}
}

// A host must say what PostgreSQL lacks, lose nothing, and go on by itself.
func TestAPostgreSQLInTroubleIsTold(t *testing.T) {
	p := newPairOn(t, pgtest.Start(t, "max_connections=40"), nil, 10*time.Second)
	a := p.hosts[0]
	a.start()
	stage.Await(t, "a owns", a.owns)
	under := p.streams()

	fence := a.status().Cluster.Fence
	a.way.slow.Store(int64(350 * time.Millisecond)) // a commit needs two round trips
	p.told(a, "PostgreSQL is slow", "look for what occupies its machine")
	stage.Await(t, "a load balancer to have an answer in time", a.owns)
	a.way.slow.Store(0)
	under.moved(t)
	if now := a.status().Cluster; now.Fence != fence || !now.Owned {
		t.Errorf("an owner with a slow way lost its lease: %+v", now)
	}

	p.db.Psql("postgres", "ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf();")
	p.told(a, "takes no writes", "default_transaction_read_only")
	p.db.Psql("postgres", "SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf();")
	stage.Await(t, "a owns again", a.owns)
	under.moved(t)

	release := exhaust(t, p.db)
	p.told(a, "too many clients", "max_connections")
	release()
	stage.Await(t, "a owns again", a.owns)
	under.moved(t)
	p.all(under, a)
}

func TestAPostgreSQLWithoutDiskIsTold(t *testing.T) {
	if os.Getuid() != 0 {
		need.Lacking(t, "mount a small file system: only root does")
	}
	dir := pgtest.Dir(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256m,mode=0755"); err != nil {
		need.Lacking(t, "mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	p := newPairOn(t, pgtest.StartIn(t, dir), nil, 10*time.Second)
	a := p.hosts[0]
	a.start()
	stage.Await(t, "a owns", a.owns)
	under := p.streams()
	under.moved(t)
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	p.told(a, "database server is full", "make room")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.db.Revive()
	stage.Await(t, "a owns", a.owns)
	under.moved(t)
	p.all(under, a)
}

// fill writes a file until its file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		n, err := f.Write(chunk)
		if err != nil && n == 0 {
			chunk = chunk[:len(chunk)/2]
		}
	}
}
