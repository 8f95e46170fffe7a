// Package device is the linked device: the store of its keys, on this machine's disk or in the state's
// PostgreSQL, with the lock of the one process that may be the device, and the version that it claims to be.
package device

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/store/sqlstore"
	"go.mau.fi/whatsmeow/store/sqlstore/upgrades"
	waLog "go.mau.fi/whatsmeow/util/log"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/librarylog"
	stores "github.com/longshore-bridge/longshore/host/store"
)

// Spec describes the store in dir of the channel of that name: the device's keys, in tables
// that the library makes.
func Spec(name, dir string, home stores.Home, server stores.Server) stores.Spec {
	return stores.Spec{
		Name: name, Dir: dir, File: "whatsapp.db", Lock: "whatsapp.lock", Home: home, Library: library{}, TxLock: "immediate",
		Pragmas: []string{"foreign_keys(1)", "busy_timeout(5000)", "journal_mode(WAL)", "synchronous(1)"}, Server: server,
	}
}

// library makes the tables.
type library struct{}

// Newer implements store.Library: the store may say that older programs can use it.
func (library) Newer(ctx context.Context, db *sql.DB) (bool, error) {
	var known bool
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pragma_table_info('whatsmeow_version') WHERE name = 'compat')`).Scan(&known)
	if err != nil || !known {
		return false, err
	}
	var version, compat sql.NullInt64
	err = db.QueryRowContext(ctx, `SELECT version, compat FROM whatsmeow_version LIMIT 1`).Scan(&version, &compat)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return cmp.Or(compat.Int64, version.Int64) > int64(len(upgrades.Table)), err
}

// Upgrade implements store.Library. In PostgreSQL the library does not make its table of the version if another
// schema has one, that of a second channel.
func (library) Upgrade(ctx context.Context, db *sql.DB, postgres bool) error {
	if postgres {
		if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS whatsmeow_version (version INTEGER, compat INTEGER)`); err != nil {
			return err
		}
	}
	return containerOf(db, postgres, nil).Upgrade(ctx)
}

func containerOf(db *sql.DB, postgres bool, log waLog.Logger) *sqlstore.Container {
	dialect := "sqlite"
	if postgres {
		dialect = "postgres"
	}
	return sqlstore.NewWithDB(db, dialect, log)
}

// Keys is the open store of the device's keys, and its lock.
type Keys struct {
	lock      *os.File
	Container *sqlstore.Container // nil while it is not open
	Fenced    bool                // the store is in PostgreSQL, and its owner alone writes
	db        *sql.DB             // the container's
}

// Open takes the lock and opens the store. A device that is not linked yet
// has no address.
func Open(ctx context.Context, spec stores.Spec, log *slog.Logger) (_ *Keys, device *store.Device, err error) {
	if err := makePrivate(spec.Dir); err != nil {
		return nil, nil, err
	}
	k := &Keys{}
	if k.lock, err = stores.Lock(spec); err != nil {
		return nil, nil, err
	}
	if device, err = k.open(ctx, spec, log); err != nil {
		return nil, nil, errors.Join(err, k.Close())
	}
	return k, device, nil
}

func (k *Keys) open(ctx context.Context, spec stores.Spec, log *slog.Logger) (*store.Device, error) {
	db, err := stores.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	k.db, k.Fenced = db.DB, spec.Server.Fence != nil
	k.Container = containerOf(k.db, spec.OnServer(), librarylog.New(log, nil).Sub("Store"))
	device, err := k.Container.GetFirstDevice(ctx)
	if err != nil {
		return nil, fmt.Errorf("open whatsapp store: %w", stores.Words(err))
	}
	return device, nil
}

// Close closes the store, and gives the lock back.
func (k *Keys) Close() error {
	var err error
	if k.Container != nil {
		err = k.Container.Close()
	}
	return errors.Join(err, k.lock.Close())
}

// CheckOwner returns an error unless this process may still be the device. A store on this machine has a lock.
func (k *Keys) CheckOwner(ctx context.Context) error {
	if !k.Fenced {
		return nil
	}
	tx, err := k.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("check who owns the device: %w", err)
	}
	return tx.Rollback()
}

// Forget removes the keys of a device that the phone has removed. The library does
// so too, but reports the event first, and may be closed in between.
func (k *Keys) Forget(ctx context.Context) error {
	if _, err := k.db.ExecContext(context.WithoutCancel(ctx), `DELETE FROM whatsmeow_device`); err != nil {
		return fmt.Errorf("forget the device's keys: %w", err)
	}
	return nil
}

func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make whatsapp store: %w", err)
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make whatsapp store private: %w", err)
	}
	return nil
}
