//go:build e2e

package move

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// site is an installation with a state on SQLite, and a PostgreSQL for it.
type site struct {
	t       *testing.T
	dir     string
	file    string // of the connection string
	sqlite  store.Spec
	there   store.Spec
	lastLog string // the trail's last hash
}

func newSite(t *testing.T, server *pgtest.Server, database string, rows int) *site {
	t.Helper()
	_, errs := server.Psql("postgres", "CREATE DATABASE "+database)
	if errs != "" {
		t.Fatal(errs)
	}
	return openSite(t, t.TempDir(), server.File(database)).filled(rows)
}

func openSite(t *testing.T, dir, file string) *site {
	home := store.Home{Installation: filepath.Join(dir, "installation"), Aside: filepath.Join(dir, "aside")}
	s := &site{t: t, dir: dir, file: file, sqlite: state.Spec(dir, home), there: state.Spec(dir, home)}
	s.there.Server.File = file
	return s
}

func (s *site) options() Options {
	return Options{From: s.sqlite, To: s.there, Audit: filepath.Join(s.dir, "audit"), Now: time.Now(), Progress: silent{}}
}

func (s *site) back() Options {
	o := s.options()
	o.From, o.To = o.To, o.From
	return o
}

func (s *site) filled(rows int) *site {
	s.t.Helper()
	db := s.open(s.sqlite)
	fill(s.t, db.DB.DB, rows)
	s.ended(db.Close())
	l, err := audit.Open(audit.Options{Dir: filepath.Join(s.dir, "audit"), Log: slog.New(slog.DiscardHandler)})
	s.ended(err)
	for n := range 5 * rows {
		l.Add(audit.Entry{Event: "sent", Delivery: fmt.Sprint(n), Group: "ü\x00\xff"})
	}
	s.ended(l.Close())
	s.lastLog = s.verified(audit.Files(filepath.Join(s.dir, "audit")), int64(5*rows))
	return s
}

func (s *site) ended(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) open(spec store.Spec) *state.DB {
	s.t.Helper()
	db, err := state.Open(context.WithoutCancel(s.t.Context()), spec, slog.New(slog.DiscardHandler))
	s.ended(err)
	return db
}

func (s *site) verified(trail audit.Trail, entries int64) string {
	s.t.Helper()
	sum, err := audit.Verify(s.t.Context(), trail, s.lastLog)
	if err != nil || sum.Entries != entries || s.lastLog != "" && !sum.Found {
		s.t.Errorf("%+v, %v", sum, err)
	}
	return sum.Hash
}

// sums are those of all tables.
func (s *site) sums(spec store.Spec) map[string]Sum {
	s.t.Helper()
	one, err := spec.Snapshot(s.t.Context())
	s.ended(err)
	defer one.Close()
	fresh := statetestTables(s.t)
	all := map[string]Sum{}
	for i := range fresh {
		if trail[fresh[i].Name] {
			continue
		}
		sum, err := sumOf(s.t.Context(), Side{one.Conn(), spec.OnServer()}, &fresh[i], false)
		s.ended(err)
		all[fresh[i].Name] = sum
	}
	return all
}

func statetestTables(t *testing.T) []Table {
	t.Helper()
	db := filled(t, 0)
	all, err := tables(t.Context(), db.DB.DB)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAStateGoesThereAndComesBack(t *testing.T) {
	server := pgtest.Start(t)
	s := newSite(t, server, "one", 450)
	before := s.sums(s.sqlite)
	r, err := Move(t.Context(), s.options())
	s.ended(err)
	if r.Trail != 2250 || len(r.Tables) < 35 || len(r.Aside) != 1 || r.Before {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(before, s.sums(s.there)); diff != "" {
		t.Error(diff)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, "longshore.db*")); len(left) > 0 {
		t.Errorf("%q is in its place", left)
	}
	for _, name := range []string{"longshore.db", "audit"} {
		if _, err := os.Stat(filepath.Join(r.Aside[0], name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := Move(t.Context(), s.options()); !errors.Is(err, ErrMoved) {
		t.Errorf("moved twice: %v", err)
	}

	db := s.open(s.there)
	s.verified(audit.Rows(db.DB.DB), 2250)
	var seq int64
	err = db.QueryRow(`INSERT INTO held (folder, slot, tokens, nanos) VALUES ('', 0, 0, 0) RETURNING id`).Scan(&seq)
	if s.ended(err); seq != 451 {
		t.Errorf("the next number is %d", seq)
	}
	l, err := audit.Open(audit.Options{State: db, Log: slog.New(slog.DiscardHandler)})
	s.ended(err)
	l.Add(audit.Entry{Event: "sent", Delivery: "7"}, audit.Entry{Event: "sent", Delivery: "new"})
	s.ended(l.Close())
	s.verified(audit.Rows(db.DB.DB), 2251)
	s.ended(db.Close())

	now := s.sums(s.there)
	r, err = Move(t.Context(), s.back())
	s.ended(err)
	if r.Trail != 2251 || len(r.Aside) != 1 || !strings.HasPrefix(r.Aside[0], "the schema aside_") {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff(now, s.sums(s.sqlite)); diff != "" {
		t.Error(diff)
	}
	db = s.open(s.sqlite)
	s.verified(audit.Files(filepath.Join(s.dir, "audit")), 2251)
	if err := db.QueryRow(`INSERT INTO held (folder, slot, tokens, nanos) VALUES ('', 0, 0, 0) RETURNING id`).Scan(&seq); err != nil || seq != 452 {
		t.Errorf("the next number is %d, %v", seq, err)
	}
	s.ended(db.Close())
	if _, err := Move(t.Context(), s.options()); err != nil {
		t.Errorf("there again: %v", err)
	}
}

// killer kills its process at a step.
type killer struct{ left int }

func (k *killer) Say(string, ...any) {
	if k.left--; k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// TestMoveProcess is the process that is killed.
func TestMoveProcess(t *testing.T) {
	dir, file := os.Getenv("MOVE_DIR"), os.Getenv("MOVE_FILE")
	if dir == "" {
		t.Skip("a part of the tests below")
	}
	s := openSite(t, dir, file)
	o := s.options()
	if os.Getenv("MOVE_BACK") != "" {
		o = s.back()
	}
	k := &killer{}
	_, err := fmt.Sscan(os.Getenv("MOVE_STEP"), &k.left)
	s.ended(err)
	o.Progress = k
	_, err = Move(t.Context(), o)
	s.ended(err)
}

// After kill -9 at each step the state is whole in one of the two places, and the next Move ends what
// was begun.
func TestAMoveThatIsKilledIsGoneOnWith(t *testing.T) {
	server := pgtest.Start(t)
	s := newSite(t, server, "two", 30)
	want := s.sums(s.sqlite)
	for _, back := range []bool{false, true} {
		for step, killed := 1, true; killed; step++ {
			if step > 3 && step < 36 {
				step += 8
			}
			cmd := exec.Command(os.Args[0], "-test.run", "^TestMoveProcess$")
			cmd.Env = append(os.Environ(), "MOVE_DIR="+s.dir, "MOVE_FILE="+s.file, fmt.Sprint("MOVE_STEP=", step))
			if back {
				cmd.Env = append(cmd.Env, "MOVE_BACK=1")
			}
			out, err := cmd.CombinedOutput()
			killed = cmd.ProcessState.ExitCode() == -1
			if !killed && err != nil {
				t.Fatalf("back %v, step %d: %v\n%s", back, step, err, out)
			}
			places := 0
			for _, spec := range []store.Spec{s.sqlite, s.there} {
				there, err := spec.Present(t.Context())
				if s.ended(err); there {
					places++
					if diff := cmp.Diff(want, s.sums(spec)); diff != "" {
						t.Errorf("back %v, step %d: %s", back, step, diff)
					}
				}
			}
			if places == 0 || !killed && places != 1 {
				t.Fatalf("back %v, step %d: the state is in %d places", back, step, places)
			}
			t.Logf("back %v, killed at step %d: %v, in %d places", back, step, killed, places)
		}
	}
	s.verified(audit.Files(filepath.Join(s.dir, "audit")), 150)
	s.ended(s.open(s.sqlite).Close())
}

// A host has used the new one, and the old one is still there: neither is touched.
func TestAStateThatWasUsedSinceIsNotOverwritten(t *testing.T) {
	server := pgtest.Start(t)
	s := newSite(t, server, "three", 5)
	file := filepath.Join(s.dir, "longshore.db")
	old, err := os.ReadFile(file)
	s.ended(err)
	_, err = Move(t.Context(), s.options())
	s.ended(err)
	db := s.open(s.there)
	_, err = db.DB.Exec(`UPDATE delivery SET request = 'later' WHERE id = 3`)
	s.ended(err)
	s.ended(db.Close())
	s.ended(os.WriteFile(file, old, 0o600))
	for _, o := range []Options{s.options(), s.back()} {
		if _, err := Move(t.Context(), o); err == nil || !strings.Contains(err.Error(), "table delivery differs") {
			t.Errorf("%v", err)
		}
	}
	if out, _ := server.Psql("three", `SELECT request FROM delivery WHERE id = 3`); strings.TrimSpace(out) != "later" {
		t.Errorf("%q", out)
	}
}

// Nothing is written to PostgreSQL before all texts fit, and a host that runs is not moved.
func TestWhatKeepsAMoveFromBeginning(t *testing.T) {
	server := pgtest.Start(t)
	s := newSite(t, server, "four", 5)
	db := s.open(s.sqlite)
	if _, err := Move(t.Context(), s.options()); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside a host: %v", err)
	}
	_, err := db.DB.Exec(`UPDATE part SET text = 'a' || char(0) WHERE delivery = 2`)
	s.ended(err)
	s.ended(db.Close())
	var bad *UnfitError
	if _, err := Move(t.Context(), s.options()); !errors.As(err, &bad) || len(bad.All) != 1 {
		t.Errorf("%v", err)
	}
	if there, err := s.there.Present(t.Context()); there || err != nil {
		t.Errorf("PostgreSQL has tables: %v, %v", there, err)
	}
	o := s.options()
	o.Replace = true
	if _, err := Move(t.Context(), o); err != nil {
		t.Errorf("with U+FFFD in its place: %v", err)
	}
}
