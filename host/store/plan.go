package store

import (
	"context"
	"errors"
	"path/filepath"
)

// Plan says what Open would do with a store.
type Plan struct {
	Name    string
	Present bool
	Version int   // of the schema on the disk; 0: other code keeps it
	Wants   int   // what Open makes of it
	Bytes   int64 // of the database and its log
	Err     error // why Open would refuse; nil: it would not
}

// Steps is how many schema steps Open would run.
func (p Plan) Steps() int {
	if !p.Present || p.Err != nil {
		return 0
	}
	return max(0, p.Wants-p.Version)
}

// PlanOf reads a store as [Look] does, whether a process uses it or not, and changes
// nothing.
func PlanOf(ctx context.Context, s Spec) Plan {
	p := Plan{Name: s.Name, Wants: s.version()}
	if s.OnServer() {
		return s.planServer(ctx, p)
	}
	for _, suffix := range append([]string{""}, logs...) {
		p.Bytes += Size(filepath.Join(s.Dir, s.File+suffix))
	}
	v, err := Look(ctx, s)
	if p.Present = v != nil || err != nil; v == nil {
		p.Err = err
		return p
	}
	if s.Schema != "" {
		err = v.QueryRowContext(ctx, "PRAGMA user_version").Scan(&p.Version)
	}
	p.Err = errors.Join(Words(err), v.Close())
	return p
}
