package engines

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

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
