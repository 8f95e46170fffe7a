package audit

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

// inState is a trail that is rows.
func inState(t testing.TB) (Options, *state.DB) {
	t.Helper()
	db := statetest.Open(t, t.TempDir())
	return Options{State: db, Log: slog.New(slog.DiscardHandler)}, db
}

// The same entries are the same lines, and each reader finds the same in them.
func TestRowsAndFilesSayTheSame(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	asRows, db := inState(t)
	asFiles := quiet(t.TempDir())
	asFiles.most = 64 << 10
	for from := range 3 {
		for _, o := range []Options{asRows, asFiles} {
			l := open(t, o)
			for i := range 1500 {
				e := sent(from*1500 + i)
				e.Time = at.Add(time.Duration(from*1500+i) * time.Minute)
				l.Add(e)
			}
			closed(t, l)
		}
	}
	var got, want bytes.Buffer
	if err := errors.Join(Export(t.Context(), Rows(db.DB.DB), &got), Export(t.Context(), Files(asFiles.Dir), &want)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) || want.Len() < 4500*200 {
		t.Errorf("rows have %d bytes, files have %d", got.Len(), want.Len())
	}
	a, err := Verify(t.Context(), Rows(db.DB.DB), "")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Verify(t.Context(), Files(asFiles.Dir), a.Hash)
	if a.Found = true; b.Files < 10 || err != nil {
		t.Fatalf("%+v, %v", b, err)
	}
	if b.Files = 0; a != b || a.Entries != 4500 {
		t.Errorf("%+v and %+v", a, b)
	}
	path := filepath.Join(t.TempDir(), "trail")
	if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Verify(t.Context(), Exported(path), a.Hash); err != nil || c.Entries != 4500 || !c.Found {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Verify(t.Context(), Exported(path+".gone"), ""); err == nil {
		t.Error("a file that is not there is whole")
	}
	for _, q := range []Query{{}, {Name: "1a\n7"}, {From: at.Add(4000 * time.Minute)}, {To: at.Add(30 * time.Minute)}, {Event: "failed"}} {
		rows, err1 := Newest(t.Context(), Rows(db.DB.DB), q, 50)
		files, err2 := Newest(t.Context(), Files(asFiles.Dir), q, 50)
		if diff := cmp.Diff(files, rows); diff != "" || err1 != nil || err2 != nil {
			t.Errorf("%+v: %v, %v, files (-) and rows (+):\n%s", q, err1, err2, diff)
		}
	}
}

func TestWhatIsDoneToARowIsFound(t *testing.T) {
	o, db := inState(t)
	l := open(t, o)
	for n := range 30 {
		l.Add(sent(n))
	}
	closed(t, l)
	for name, change := range map[string]string{
		"a byte":   `UPDATE audit_entry SET line = replace(line, '"bytes":5', '"bytes":6') WHERE n = 7`,
		"removed":  `DELETE FROM audit_entry WHERE n = 7`,
		"another":  `UPDATE audit_entry SET line = (SELECT line FROM audit_entry WHERE n = 8) WHERE n = 7`,
		"moved":    `UPDATE audit_entry SET n = 40 WHERE n = 7`,
		"inserted": `INSERT INTO audit_entry SELECT 0, 0, '', '', line FROM audit_entry WHERE n = 7`,
	} {
		db := statetest.Open(t, t.TempDir())
		exec(t, db, `ATTACH ? AS other`, o.State.Spec.Dir+"/longshore.db")
		exec(t, db, `INSERT INTO audit_entry SELECT * FROM other.audit_entry`)
		if s, err := Verify(t.Context(), Rows(db.DB.DB), ""); err != nil || s.Entries != 30 {
			t.Fatalf("%+v, %v", s, err)
		}
		exec(t, db, change)
		var broken *Broken
		if s, err := Verify(t.Context(), Rows(db.DB.DB), ""); !errors.As(err, &broken) || broken.File != "" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	exec(t, db, `DELETE FROM audit_entry WHERE n < 5`)
	if s, err := Verify(t.Context(), Rows(db.DB.DB), ""); err != nil || s.First != 5 {
		t.Errorf("after the oldest were removed: %+v, %v", s, err)
	}
}

func exec(t *testing.T, db *state.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.DB.Exec(query, args...); err != nil {
		t.Fatal(err)
	}
}

// A killed host loses what waits: rows are written at once, but not in a busy loop.
func TestARowWaitedForTheNextSecond(t *testing.T) {
	o, db := inState(t)
	l := open(t, o)
	l.Add(sent(1))
	if l.pause() != 0 || rows(t, db) != 0 {
		t.Errorf("Run waits %v, and %d rows are there", l.pause(), rows(t, db))
	}
	if err := l.sync(); err != nil || rows(t, db) != 1 {
		t.Errorf("%d rows, %v", rows(t, db), err)
	}
	for range refusedMost + 5 {
		l.Add(Entry{Event: "refused", Group: "a", Code: "b"})
	}
	if err := l.sync(); err != nil || l.pause() != syncEvery {
		t.Errorf("while refusals are counted, Run waits %v; %v", l.pause(), err)
	}
	l.failing = errors.New("no answer")
	l.Add(sent(2))
	if l.pause() != syncEvery {
		t.Errorf("while the state takes nothing, Run waits %v", l.pause())
	}
	l.failing = nil
	closed(t, l)
}

func rows(t *testing.T, db *state.DB) (n int) {
	t.Helper()
	if err := db.QueryRow(`SELECT COUNT(*) FROM audit_entry`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A server that dies after a commit and before its answer has the rows: they stood there twice, or the
// trail took nothing any more.
func TestACommitWhoseAnswerWasLostIsNotMadeAgain(t *testing.T) {
	o, db := inState(t)
	l := open(t, o)
	l.Add(sent(0))
	if err := l.sync(); err != nil {
		t.Fatal(err)
	}
	all := []Entry{sent(1), sent(2)}
	for i := range all {
		all[i].Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	if _, _, err := l.kept.put(l.number, l.hash, all); err != nil { // the Log does not hear of it
		t.Fatal(err)
	}
	l.Add(append(all, sent(3))...)
	closed(t, l)
	if s, err := Verify(t.Context(), Rows(db.DB.DB), ""); err != nil || s.Entries != 4 {
		t.Errorf("%+v, %v", s, err)
	}
	l = open(t, o)
	l.Add(sent(0), sent(1), sent(2), sent(3))
	closed(t, l)
	if n := rows(t, db); n != 4 {
		t.Errorf("%d rows", n)
	}
}

// While the state takes nothing, entries wait, and the host goes on.
func TestWhatTheStateDoesNotTakeWaits(t *testing.T) {
	o, db := inState(t)
	l := open(t, o)
	exec(t, db, `ALTER TABLE audit_entry RENAME TO away`)
	for n := range 3 * mostRows {
		l.Add(sent(n))
	}
	if l.failing == nil {
		t.Error("the operator was not told")
	}
	exec(t, db, `ALTER TABLE away RENAME TO audit_entry`)
	closed(t, l)
	if s, err := Verify(t.Context(), Rows(db.DB.DB), ""); err != nil || s.Entries != 3*mostRows {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestOldRowsGoAndTheNewestStay(t *testing.T) {
	o, db := inState(t)
	l := open(t, o)
	old := time.Now().Add(-50 * time.Hour)
	for n := range 4 * rowsExpire {
		e := sent(n)
		e.Time = old
		if n > 2*rowsExpire+10 {
			e.Time = time.Now()
		}
		l.Add(e)
	}
	if err := l.sync(); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		keep time.Duration
		want int
	}{{0, 4 * rowsExpire}, {100 * time.Hour, 4 * rowsExpire}, {48 * time.Hour, 2 * rowsExpire}, {time.Nanosecond, rowsExpire}} {
		l.o.Settings = settings{one.keep, nil}
		if l.expire(); rows(t, db) != one.want {
			t.Errorf("%d rows are left that are kept for %v, want %d", rows(t, db), one.keep, one.want)
		}
	}
	closed(t, l)
	if s, err := Verify(t.Context(), Rows(db.DB.DB), ""); err != nil || s.Last != 4*rowsExpire {
		t.Errorf("%+v, %v", s, err)
	}
}

// Another machine goes on with the same hashes of members' numbers.
func TestTheNextHostMasksANumberAlike(t *testing.T) {
	o, db := inState(t)
	l := open(t, o)
	jid := "4915112345678@s.whatsapp.net"
	want := l.Mask(jid)
	closed(t, l)
	l = open(t, o)
	defer closed(t, l)
	if got := l.Mask(jid); got != want || masked(Rows(db.DB.DB), jid) != want || strings.Contains(want, "4915") {
		t.Errorf("%s, then %s", want, got)
	}
}

// BenchmarkTakeOver opens a trail of many rows, as a host does that takes over.
func BenchmarkTakeOver(b *testing.B) {
	o, _ := inState(b)
	l := open(b, o)
	for n := range 50_000 {
		l.Add(sent(n))
	}
	closed(b, l)
	for b.Loop() {
		closed(b, open(b, o))
	}
}
