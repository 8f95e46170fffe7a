// Package move takes a state, and what libraries keep beside it, from one engine to the other, from SQLite to
// PostgreSQL or back, while no host runs.
//
// The new database appears with all its rows in one step: a transaction of PostgreSQL, or the rename of
// a whole file. Before that, each table is read back and compared by the number and a hash of its rows;
// so is the audit trail, which is files beside SQLite and rows in PostgreSQL. Then the old one is set aside:
//
//	killed before the step     nothing has changed; the next Move begins anew
//	killed after the step      both are there, and the next Move finds them equal, and goes on
//	a host has used the new    they differ: Move refuses
//
// The bytes of files stay where they are.
package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/store"
)

// Options say what to move.
type Options struct {
	From, To store.Spec // of one installation; one of them is in PostgreSQL
	Audit    string     // directory of the audit trail's files; empty: the store has none
	Replace  bool       // put U+FFFD in place of what PostgreSQL does not take in a text
	Now      time.Time
	Progress Progress
}

// Progress hears how far a move is.
type Progress interface {
	Say(format string, args ...any)
}

// Report says what was moved.
type Report struct {
	Tables []Copied `json:"tables"`
	Trail  int64    `json:"audit_lines"`
	Before bool     `json:"copied_before"`   // an earlier move was cut off after its copy
	Aside  []string `json:"aside,omitempty"` // directories, and in words schemas of PostgreSQL
}

// Add adds what was moved besides.
func (r *Report) Add(more Report) {
	r.Tables, r.Trail = append(r.Tables, more.Tables...), r.Trail+more.Trail
	r.Before, r.Aside = r.Before || more.Before, append(r.Aside, more.Aside...)
}

// UnfitError lists what PostgreSQL does not take.
type UnfitError struct{ All []Unfit }

func (e *UnfitError) Error() string {
	return fmt.Sprintf("PostgreSQL does not take what is in the table %s, %s, column %s: %s", e.All[0].Table, e.All[0].Key, e.All[0].Column, e.All[0].Why)
}

var (
	// ErrMoved is of a state that is where it is to go.
	ErrMoved = errors.New("the state is there already")

	// ErrNone is of a store that is on neither side.
	ErrNone = errors.New("there is no state to move")
)

// Move moves a state. The caller has the lease, if one of the two has one. Nothing has changed if it fails before the new database is whole. The error is
// store.ErrLocked while a host runs, ErrMoved, ErrNone, or an *UnfitError.
func Move(ctx context.Context, o Options) (r Report, err error) {
	lock, err := store.Lock(o.From)
	if err != nil {
		return r, err
	}
	defer lock.Close()
	from, err := o.From.Present(ctx)
	if err != nil {
		return r, err
	}
	to, err := o.To.Present(ctx)
	switch {
	case err != nil:
		return r, err
	case !from && to:
		return r, ErrMoved
	case !from:
		return r, ErrNone
	}
	if o.From.Library != nil { // both sides have its newest tables then
		db, err := store.Open(ctx, o.From)
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			return r, err
		}
	}
	if err := o.copy(ctx, &r); err != nil {
		return r, err
	}
	o.Progress.Say("set the old one aside")
	m, err := o.From.SetDatabaseAside(ctx, o.Now, o.oldTrail()...)
	r.Aside = slices.DeleteFunc([]string{m.Dir, m.Schema}, func(place string) bool { return place == "" })
	return r, err
}

// oldTrail is the directory of the trail's files, if the trail is rows from now on.
func (o *Options) oldTrail() []string {
	if o.To.OnServer() && o.Audit != "" {
		return []string{o.Audit}
	}
	return nil
}

// copy makes the new database, or compares it with the old one if it is there.
func (o *Options) copy(ctx context.Context, r *Report) (err error) {
	snapshot, err := o.From.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if snapshot.Version != o.To.Newest() {
		return errors.New("the state is of another version than this program: start the host once, and stop it")
	}
	from := Side{snapshot.Conn(), o.From.OnServer()}
	if !from.Postgres {
		if err := o.check(ctx, from); err != nil {
			return err
		}
	}
	err = o.To.Make(ctx, &filler{o, from, r})
	if !errors.Is(err, store.ErrPresent) {
		return err
	}
	r.Before = true
	return o.compare(ctx, from, r)
}

// check refuses what PostgreSQL does not take, before anything is written.
func (o *Options) check(ctx context.Context, from Side) error {
	o.Progress.Say("check that PostgreSQL takes all texts")
	all, err := unfit(ctx, from)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !o.Replace || !one.text {
			return &UnfitError{all}
		}
	}
	return nil
}

// filler copies the rows into a new database.
type filler struct {
	*Options
	from Side
	r    *Report
}

// Fill implements store.Filler.
func (f *filler) Fill(ctx context.Context, tx *sql.Tx) (err error) {
	to := Side{tx, f.To.OnServer()}
	if f.r.Tables, err = f.tables(ctx, f.from, to); err != nil {
		return err
	}
	if f.Audit == "" {
		return nil
	}
	f.Progress.Say("copy the audit trail")
	if to.Postgres {
		f.r.Trail, err = audit.ToRows(ctx, f.Audit, tx)
		return err
	}
	if _, err := os.Lstat(f.Audit); !errors.Is(err, fs.ErrNotExist) { // a move that was cut off left it, or an operator
		var m store.Moved
		if err := errors.Join(err, m.TakeAside(f.To, f.Audit, f.Now)); err != nil {
			return err
		}
		f.Progress.Say("an audit trail in files is now in %s", m.Dir)
	}
	f.r.Trail, err = audit.ToFiles(ctx, tx, f.Audit)
	return err
}

func (o *Options) tables(ctx context.Context, from, to Side) ([]Copied, error) {
	known, err := tables(ctx, layoutOf(from, to))
	if err != nil {
		return nil, err
	}
	var all []Copied
	for i := range known {
		o.Progress.Say("copy the table %s", known[i].Name)
		one, err := copyWhole(ctx, from, to, &known[i], o.Replace)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// layoutOf is the side that knows its tables.
func layoutOf(a, b Side) Side {
	if a.Postgres {
		return b
	}
	return a
}

// compare compares the old database with a new one that is there.
func (o *Options) compare(ctx context.Context, from Side, r *Report) (err error) {
	o.Progress.Say("compare what is there")
	there, err := o.To.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, there.Close()) }()
	to := Side{there.Conn(), o.To.OnServer()}
	known, err := tables(ctx, layoutOf(from, to))
	if err != nil {
		return err
	}
	for i := range known {
		t := &known[i]
		if trail[t.Name] {
			continue
		}
		got, same, err := equal(ctx, from, to, t, o.Replace)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("both have a state, and the table %s differs: a host has used one of them since. Set aside the one that you do not want", t.Name)
		}
		r.Tables = append(r.Tables, Copied{t.Name, got})
	}
	return nil
}

// CopyTo writes a snapshot of a state on either engine to a new SQLite database.
func CopyTo(ctx context.Context, one *store.Snapshot, path string) error {
	if !one.OnServer() {
		return one.CopyTo(ctx, path)
	}
	return one.MakeCopy(ctx, path, rowsFrom{one})
}

// rowsFrom are the rows of a snapshot in PostgreSQL.
type rowsFrom struct{ *store.Snapshot }

// Fill implements store.Filler.
func (f rowsFrom) Fill(ctx context.Context, tx *sql.Tx) error {
	o := Options{Progress: silence{}}
	_, err := o.tables(ctx, Side{f.Conn(), true}, Side{tx, false})
	return err
}

type silence struct{}

func (silence) Say(string, ...any) {}

// trail are the tables that are files beside SQLite.
var trail = map[string]bool{"audit_entry": true, "audit_key": true}
