package engines

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/host/turns"
)

// moveAfter is how long an engine does not answer before the groups that may move leave it.
const moveAfter = time.Minute

// placement is where a group's container runs, and the engine that the group has left its workspace on.
type placement struct{ engine, former string }

// Load reads the placements of the state, in which the Engines keep them, and returns docker.Runtime.Owner.
// Nothing looks at an engine before.
func (s *Engines) Load(ctx context.Context, db *state.DB, of Installation) (owner string, err error) {
	if owner, err = of.own(ctx, db); err != nil {
		return "", err
	}
	type row struct {
		folder string
		placement
	}
	rows, err := db.QueryContext(ctx, `SELECT folder, engine, former FROM placement`)
	all, err := state.All(rows, err, func(rows *sql.Rows) (r row, err error) {
		err = rows.Scan(&r.folder, &r.engine, &r.former)
		return r, err
	})
	if err != nil {
		return "", fmt.Errorf("read on which engines the groups are: %w", store.Words(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.db, s.owner = db, owner
	for _, r := range all {
		s.placed[r.folder] = r.placement
		s.groups[r.engine]++
	}
	return owner, nil
}

// Placement implements turns.Plans.
func (s *Engines) Placement(g groups.Group, running map[string]int) (p turns.Placement, ok bool) {
	c := s.o.Host.Config()
	names := c.EnginesOf(g)
	if len(names) == 0 || names[0] == "" {
		return p, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.placed[g.Folder]
	stays := slices.Contains(names, at.engine)
	if p.Engine = at.engine; !stays || s.leaves(c, g, at.engine) {
		found, known := s.fewest(names, running)
		switch {
		case len(names) == 1:
			p.Engine = names[0]
		case found != "":
			p.Engine = found
		case !stays && !known:
			return p, false
		case !stays: // none of them answers: the start says so
			return turns.Placement{Engine: names[0]}, true
		}
	}
	if p.Engine != at.engine && c.Alone(g) {
		p.Former = at.engine
	}
	return p, true
}

// leaves reports whether a group leaves an engine that does not answer.
func (s *Engines) leaves(c *config.Config, g groups.Group, name string) bool {
	since, why := s.named(name).awaySince()
	return why != nil && c.Assistants[g.Assistant].WhenAway == config.AwayMove && time.Since(since) > moveAfter
}

// fewest returns the answering engine on which the fewest assistants run, and of several the one with
// the fewest groups; empty: none of them answers. known is false if somebody has to look first.
func (s *Engines) fewest(names []string, running map[string]int) (best string, known bool) {
	known = true
	for _, name := range names {
		conn, looked := s.named(name).answers()
		known = known && looked
		if conn == nil {
			continue
		}
		if best == "" || cmp.Or(cmp.Compare(running[name], running[best]), cmp.Compare(s.groups[name], s.groups[best])) < 0 {
			best = name
		}
	}
	return best, known
}

// stay records that a group's container runs on an engine from now on.
func (s *Engines) stay(ctx context.Context, folder, name string) error {
	s.mu.Lock()
	at, db := s.placed[folder], s.db
	s.mu.Unlock()
	if name == "" || at.engine == name {
		return nil
	}
	_, err := db.Exec(ctx, `INSERT INTO placement (folder, engine, former) VALUES (?, ?, ?)
		ON CONFLICT (folder) DO UPDATE SET engine = excluded.engine, former = excluded.former`, folder, name, at.engine)
	if err != nil {
		return fmt.Errorf("record on which engine the group is: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placed[folder] = placement{name, at.engine}
	s.groups[at.engine]--
	s.groups[name]++
	return nil
}

// groupsOf returns the configured groups that are on an engine, and those that have left it.
func (s *Engines) groupsOf(name string) (stay, left []string) {
	c := s.o.Host.Config()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range c.InContainers() {
		switch at := s.placed[g.Folder]; {
		case name == "" || !c.Alone(g):
		case at.engine == name:
			stay = append(stay, g.Folder)
		case at.former == name:
			left = append(left, g.Folder)
		}
	}
	return stay, left
}

// Installation is what containers and volumes belong to.
type Installation struct {
	ID     string // of its stores: a copy has the same
	Dir    string // the state directory
	Shared bool   // hosts of several machines serve it, each with a directory of its own
}

// OwnerIn returns the installation's docker.Runtime.Owner. It is that of the state, unless that is a copy
// in another directory; kept is false if the state does not have it yet.
func (i Installation) OwnerIn(ctx context.Context, db *sql.DB) (owner string, kept bool, err error) {
	type row struct{ name, dir string }
	rows, err := db.QueryContext(ctx, `SELECT name, directory FROM engine_owner`)
	all, err := state.All(rows, err, func(rows *sql.Rows) (r row, err error) {
		err = rows.Scan(&r.name, &r.dir)
		return r, err
	})
	if err != nil {
		return "", false, fmt.Errorf("read whose the containers are: %w", store.Words(err))
	}
	if len(all) > 0 && (i.Shared || all[0].dir == i.Dir) {
		return all[0].name, true, nil
	}
	return i.ID + " " + i.Dir, false, nil
}

// own returns the installation's owner, which the state has from then on.
func (i Installation) own(ctx context.Context, db *state.DB) (string, error) {
	owner, kept, err := i.OwnerIn(ctx, db.DB.DB)
	if err != nil || kept {
		return owner, err
	}
	err = db.Do(ctx, func(t *state.Tx) error {
		return errors.Join(t.Exec(`DELETE FROM engine_owner`), t.Exec(`INSERT INTO engine_owner (name, directory) VALUES (?, ?)`, owner, i.Dir))
	}, nil)
	if err != nil {
		return "", fmt.Errorf("record whose the containers are: %w", err)
	}
	return owner, nil
}
