//go:build e2e

package cluster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// short is the shortest lease that a configuration takes.
const short = 2 * time.Second

// hostOf returns a host of the cluster "pair", with the same configuration as the others.
func hostOf(t *testing.T, db *postgres.Config, name string) *Host {
	t.Helper()
	h := New(Options{Database: db, Cluster: "pair", Name: name, Instance: name, Program: "1", Version: 1, Config: "same", Lease: short, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Log(err)
		}
	})
	return h
}

// take is Take, again as long as a busy machine's database is too slow.
func take(t *testing.T, h *Host) (l *Lease, err error) {
	t.Helper()
	for range 10 {
		if l, err = h.Take(t.Context()); err == nil {
			break
		}
	}
	return l, err
}

func mustTake(t *testing.T, h *Host) *Lease {
	t.Helper()
	l, err := take(t, h)
	if err != nil || l == nil {
		t.Fatalf("%s does not own: %v, %+v", h.o.Name, err, h.View())
	}
	return l
}

// refused fails the test if the host takes the lease. It returns why it does not.
func refused(t *testing.T, h *Host) string {
	t.Helper()
	l, err := take(t, h)
	if err != nil || l != nil {
		t.Fatalf("%s: lease %v, error %v", h.o.Name, l, err)
	}
	return h.View().Reason
}

// session is an owner's connection, as the state opens them.
func session(t *testing.T, db *postgres.Config, fence int64) *sql.Conn {
	t.Helper()
	c, err := db.Open(postgres.Options{Fence: &postgres.Fence{Cluster: "pair", Number: fence}}).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// database starts a server for one test.
func database(t *testing.T) *postgres.Config {
	t.Helper()
	return databaseOf(t, pgtest.Start(t), "postgres")
}

func databaseOf(t *testing.T, server *pgtest.Server, name string) *postgres.Config {
	t.Helper()
	c, err := postgres.Read(server.File(name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const writes = "CREATE TEMPORARY TABLE IF NOT EXISTS written (n BIGINT)"

func TestAFrozenOwnerInATransactionNeitherHoldsTheLeaseNorWrites(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	lease := mustTake(t, a)
	if said := refused(t, b); said != "a owns" {
		t.Errorf("b stands by as %q", said)
	}
	tx, err := session(t, db, lease.Number).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal("the owner may not write", err)
	}
	// A renewal does not wait for the open transaction.
	if err := lease.renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	next, err := b.Wait(t.Context())
	if err != nil || next.Number <= lease.Number {
		t.Fatalf("b has %+v, %v", next, err)
	}
	if took := time.Since(began); took < short-100*time.Millisecond || took > short+2*time.Second {
		t.Errorf("b owned after %v", took)
	}
	if tx.Commit() == nil {
		t.Error("the frozen owner commits")
	}
	if _, err := session(t, db, lease.Number).ExecContext(t.Context(), writes); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the last owner writes: %v", err)
	}
	if _, err := session(t, db, next.Number).ExecContext(t.Context(), writes); err != nil {
		t.Errorf("the next owner does not: %v", err)
	}
	if err := lease.Keep(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("the last owner goes on: %v", err)
	}
}

func TestACommitBetweenItsFenceAndItsEndIsNotOvertaken(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	lease := mustTake(t, a)
	other, err := db.Connect(t.Context(), 0) // whose session the taker does not know
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	tx, err := other.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT longshore_fence('pair', $1)", lease.Number)
	}
	if err != nil {
		t.Fatal("the owner may not write", err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l, err := b.Take(t.Context()); l != nil {
		t.Errorf("b owns while a commit of the last owner is under way: %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustTake(t, b)
}

func TestAReleasedLeaseIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	lease := mustTake(t, a)
	if refused(t, b); b.View().Left <= 0 {
		t.Error("b does not know when the lease ends")
	}
	owns := make(chan time.Time, 1)
	go func() {
		if _, err := b.Wait(t.Context()); err == nil {
			owns <- time.Now()
		}
	}()
	began := time.Now()
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := (<-owns).Sub(began); took > short/4 {
		t.Errorf("b owned %v after the release", took)
	}
}

func TestAHostWithAnotherConfigurationOwnsOnlyIfItIsTold(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b, c := hostOf(t, db, "a"), hostOf(t, db, "b"), hostOf(t, db, "c")
	b.SetConfig("other")
	lease := mustTake(t, a)
	refused(t, b)
	refused(t, c)
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, b); !strings.Contains(b.Kept().Remedy, "yield --to b") {
		t.Errorf("b stands by as %q", said)
	}
	if err := Yield(t.Context(), a.conn, "pair", "nobody"); !errors.Is(err, ErrNoHeir) {
		t.Errorf("a host that nobody knows is the heir: %v", err)
	}
	if err := Yield(t.Context(), a.conn, "pair", "b"); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, c); said != "b is to own next" {
		t.Errorf("c stands by as %q", said)
	}
	of := mustTake(t, b)
	if of.Serves(); of.renew(t.Context()) != nil {
		t.Fatal("b does not own on")
	}
	v, err := Look(t.Context(), a.conn, "pair", short)
	if err != nil || v.Owner != "b" || v.Heir != "" || len(v.Hosts) != 3 || v.Hosts[0].Same || !v.Hosts[1].Same {
		t.Errorf("%+v, %v", v, err)
	}
	// The owner that is to give the lease away hears of it at once.
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- of.Keep(ctx) }()
	if err := Yield(t.Context(), a.conn, "pair", "c"); err != nil {
		t.Fatal(err)
	}
	<-of.Asked()
	cancel()
	if err := <-kept; err != nil {
		t.Error(err)
	}
	// A host whose file was changed while it was away owns again: it was the last owner.
	if err := of.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	was := mustTake(t, c)
	if err := was.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.SetConfig("a third")
	mustTake(t, c)
}

func TestAnOlderHostAndASecondOneOfTheSameNameStandBy(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	a.o.Version = 2
	lease := mustTake(t, a)
	if _, err := a.conn.Exec(t.Context(), postgres.Row+"; INSERT INTO longshore_store VALUES ('state', '', 2)"); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, b); !strings.Contains(said, "newer longshore") {
		t.Errorf("b stands by as %q", said)
	}
	same := hostOf(t, db, "a")
	same.o.Instance, same.o.Version = "another", 2
	same.began -= short // else the other a may be the last process of this host
	if said := refused(t, same); !strings.Contains(said, "is called a") {
		t.Errorf("the second a stands by as %q", said)
	}
	if err := a.Close(); err != nil { // a host that has left keeps its name from nobody
		t.Fatal(err)
	}
	again := hostOf(t, db, "a")
	again.o.Instance, again.o.Version = "a third", 2
	last := mustTake(t, again)
	if err := last.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there, err := Remove(t.Context(), b.conn, "pair", "a"); err != nil || !there {
		t.Errorf("%v, %v", there, err)
	}
	mustTake(t, same)
}

// A command on the machine of a dead host announced that host, and yield chose it.
func TestACommandAnnouncedAHostThatDoesNotRun(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b, command := hostOf(t, db, "a"), hostOf(t, db, "b"), hostOf(t, db, "b")
	command.o.Instance = ""
	lease := mustTake(t, a)
	refused(t, b)
	if _, err := a.conn.Exec(t.Context(), "UPDATE cluster_host SET seen = seen - make_interval(hours => 1) WHERE name = 'b'"); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, command); said != "a owns" {
		t.Errorf("the command is refused as %q", said)
	}
	lives := func(want ...bool) {
		t.Helper()
		v, err := Look(t.Context(), a.conn, "pair", short)
		if err != nil || len(v.Hosts) != 2 || v.Hosts[0].Lives != want[0] || v.Hosts[1].Lives != want[1] {
			t.Errorf("want %v: %+v, %v", want, v.Hosts, err)
		}
	}
	if lease.renew(t.Context()) != nil {
		t.Fatal("a does not own on")
	}
	lives(true, false)
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if of := mustTake(t, command); of.renew(t.Context()) != nil {
		t.Fatal("the command does not own on")
	}
	lives(true, false)
	refused(t, b)
	lives(true, true)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := command.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.conn = command.conn
	lives(false, true) // a has left
}

// A host that was killed and started again at once took its own last process for another host of its name.
func TestAHostThatWasStartedAgainWaitedForItself(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, again := hostOf(t, db, "a"), hostOf(t, db, "a")
	again.o.Instance = "another"
	again.began += time.Hour // a slow machine's test is within the first lease, too
	mustTake(t, a)
	if said := refused(t, again); again.Kept().Wrong() || !strings.Contains(said, "its last one or another") {
		t.Errorf("it stands by as %q: %+v", said, again.Kept())
	}
	if l, err := again.Wait(t.Context()); l == nil || err != nil {
		t.Errorf("it never owns: %v", err)
	}
}

// Without cluster:, or with a typo in its name, a host got a lease of its own beside the pair's.
func TestAHostOfAnotherClusterOwnsTheSameState(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	b.o.Cluster = "default"
	lease := mustTake(t, a)
	if said := refused(t, b); !strings.Contains(said, "in the cluster pair, by a") || !strings.Contains(b.Kept().Remedy, "{name: pair}") {
		t.Errorf("b stands by as %q", said)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustTake(t, b) // the cluster has been renamed
	if _, err := session(t, db, lease.Number).ExecContext(t.Context(), writes); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the owner in the cluster of before writes: %v", err)
	}
	refused(t, a)
}

// A standby of PostgreSQL was promoted before it had heard of the last owner. The next one got the same
// fence: both owned.
func TestAnOwnerOfWhomAPromotedServerHasNotHeardOwnsOn(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	first := mustTake(t, a)
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := func(script string) {
		t.Helper()
		if _, err := b.conn.Exec(t.Context(), script); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	server("CREATE TABLE heard AS TABLE lease")
	lost := mustTake(t, a)
	server("DELETE FROM lease; INSERT INTO lease TABLE heard")
	next := mustTake(t, b)
	if err := lost.renew(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("a owns with fence %d, and b with %d: %v", lost.Number, next.Number, err)
	}
	if _, err := session(t, db, lost.Number).ExecContext(t.Context(), writes); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("a writes: %v", err)
	}
}

// The way to the database broke while a host took the lease. It waited for itself until the lease ended.
func TestAHostWhoseTakeWasMadeWithoutAnAnswerWaitsForItself(t *testing.T) {
	t.Parallel()
	db := database(t)
	a := hostOf(t, db, "a")
	if lease := mustTake(t, a); lease.Left() > short {
		t.Error(lease.Left())
	} else {
		a.tried = lease // take leaves it so if it has no answer
	}
	if again := mustTake(t, a); again.Left() <= 0 {
		t.Errorf("it owns for %v", again.Left())
	}
	refused(t, a)
}

// The first of two tries to take the lease was made late: the second found the row taken, and forgot by whom.
func TestAHostThatTriedTwiceWaitedForItself(t *testing.T) {
	t.Parallel()
	a := hostOf(t, database(t), "a")
	a.o.Lease = time.Hour
	first := mustTake(t, a)
	if second, err := a.take(t.Context(), View{}); second != nil || err != nil {
		t.Fatalf("%v, %v", second, err)
	}
	if again := mustTake(t, a); again.Number != first.Number {
		t.Errorf("fence %d, and then %d", first.Number, again.Number)
	}
}

// An older host that stood by put its own function under a newer owner at each start.
func TestAHostReplacedTheFenceOfANewerOne(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	db := databaseOf(t, server, "postgres")
	mustTake(t, hostOf(t, db, "a"))
	newer := `CREATE OR REPLACE FUNCTION longshore_fence(of_cluster TEXT, of_fence BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$ BEGIN PERFORM 'newer'; END $$;`
	if _, errs := server.Psql("postgres", newer); errs != "" {
		t.Fatal(errs)
	}
	if _, err := take(t, hostOf(t, db, "b")); err != nil {
		t.Fatal(err)
	}
	if body, _ := server.Psql("postgres", "SELECT prosrc FROM pg_proc WHERE proname = 'longshore_fence'"); !strings.Contains(body, "newer") {
		t.Error(body)
	}
}

func TestATakeEndedTheSessionsOfAnotherInstallationOfTheServer(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	db := databaseOf(t, server, "postgres")
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	lease := mustTake(t, a)
	if _, errs := server.Psql("postgres", "CREATE DATABASE other"); errs != "" {
		t.Fatal(errs)
	}
	other := session(t, databaseOf(t, server, "other"), lease.Number)
	if err := errors.Join(other.PingContext(t.Context()), lease.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	mustTake(t, b)
	if err := other.PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// A host that took over and could not come up, as it could not bring the tables up to date or with the
// configuration that it had alone, kept the one before out for ever.
func TestAHostThatDidNotComeUpKeptTheOthersOut(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	b.o.Version = 2
	b.SetConfig("other")
	if err := mustTake(t, a).Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(t, b)
	if err := Yield(t.Context(), a.conn, "pair", "b"); err != nil {
		t.Fatal(err)
	}
	down := mustTake(t, b)
	if err := errors.Join(down.renew(t.Context()), down.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	mustTake(t, a)
}

// The tables of the lease were not made in time at a first start. The host kept the connection, and never tried again.
func TestAHostThatCouldNotMakeItsTablesNeverTriedAgain(t *testing.T) {
	t.Parallel()
	db := database(t)
	other, err := db.Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	tx, err := other.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", preparing)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := hostOf(t, db, "a")
	if l, err := a.Take(t.Context()); l != nil || err == nil {
		t.Fatal("it owns without its tables")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustTake(t, a)
}

// slowly returns the way to a server on which each answer, once slow is true, takes 600 ms.
func slowly(t *testing.T, server *pgtest.Server) (db *postgres.Config, slow *atomic.Bool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	slow = &atomic.Bool{}
	pass := func(from, to net.Conn, waits bool) {
		defer to.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if waits && slow.Load() {
				time.Sleep(600 * time.Millisecond)
			}
			if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
				return
			}
		}
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", server.Port))
			if err != nil {
				_ = from.Close()
				continue
			}
			go pass(from, to, false)
			go pass(to, from, true)
		}
	}()
	db, err = postgres.Read(pgtest.Write(t, fmt.Sprintf("host=127.0.0.1 port=%d user=longshore dbname=postgres sslmode=disable", l.Addr().(*net.TCPAddr).Port)))
	if err != nil {
		t.Fatal(err)
	}
	return db, slow
}

// A renewal needed eight round trips within a third of the lease.
func TestAnOwnerWithASlowWayToItsDatabaseLostItsLease(t *testing.T) {
	t.Parallel()
	db, slow := slowly(t, pgtest.Start(t))
	a := hostOf(t, db, "a")
	a.o.Lease = 10 * time.Second
	lease := mustTake(t, a)
	slow.Store(true)
	for range 2 { // on the connection that it has, and on a new one
		if err := lease.renew(t.Context()); err != nil {
			t.Error(err)
		}
		_ = lease.host.conn.Close(t.Context())
	}
}

// A standby of PostgreSQL was promoted that lacked the last commits, and a host owned as if nothing was lost.
// A timeline that is no longer the last owner's stands for the promotion.
func TestAPromotedServerIsTakenOnlyIfTold(t *testing.T) {
	t.Parallel()
	db := database(t)
	a, b := hostOf(t, db, "a"), hostOf(t, db, "b")
	lease := mustTake(t, a)
	promote := func(safe bool) {
		t.Helper()
		if _, err := b.conn.Exec(t.Context(), "UPDATE lease SET history = history + 1, safe = $1", safe); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, b)
	promote(true)
	if err := lease.renew(t.Context()); err != nil {
		t.Fatalf("an owner whose commits waited for a standby ended: %v", err)
	}
	promote(false)
	if err := lease.renew(t.Context()); !errors.Is(err, ErrLost) {
		t.Fatalf("the owner goes on: %v", err)
	}
	if _, err := b.conn.Exec(t.Context(), "UPDATE lease SET expires = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, b); !strings.Contains(said, "promoted") {
		t.Errorf("b stands by as %q", said)
	}
	if err := Yield(t.Context(), b.conn, "pair", "b"); err != nil {
		t.Fatal(err)
	}
	if err := mustTake(t, b).renew(t.Context()); err != nil {
		t.Error(err)
	}
}
