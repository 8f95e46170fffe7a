// Package statetest opens states for tests.
package statetest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// Postgres names the variable with the file of a connection string. If it is set, each state is a
// schema in that database.
const Postgres = "LONGSHORE_TEST_POSTGRES"

// Spec describes the state in dir. On PostgreSQL its schema, named after dir, is made.
func Spec(dir string) store.Spec {
	s := state.Spec(dir, store.Home{})
	file := os.Getenv(Postgres)
	if file == "" {
		return s
	}
	sum := sha256.Sum256([]byte(dir))
	name := "t_" + hex.EncodeToString(sum[:8])
	text, err := os.ReadFile(file)
	if err == nil {
		s.Server.File = filepath.Join(filepath.Dir(file), name)
		err = os.WriteFile(s.Server.File, append(text, " search_path="+name...), 0o600)
	}
	if err == nil {
		err = makeSchema(file, name)
	}
	if err != nil {
		panic(err) // there are callers without a test, such as the processes that a test kills
	}
	return s
}

func makeSchema(file, name string) error {
	c, err := postgres.Read(file)
	if err != nil {
		return err
	}
	db := c.Open(postgres.Options{})
	_, err = db.Exec(`CREATE SCHEMA IF NOT EXISTS ` + name)
	return errors.Join(err, db.Close())
}

// SQLiteOnly skips a test on PostgreSQL and says why.
func SQLiteOnly(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(Postgres) != "" {
		t.Skip("on SQLite only: " + why)
	}
}

// Open opens the state in dir, and closes it when the test ends, if the test has not.
func Open(t testing.TB, dir string) *state.DB {
	t.Helper()
	d, _ := Start(t, dir)
	return d
}

// Start is Open for a test that closes the state before it ends, such as to open it again.
func Start(t testing.TB, dir string) (d *state.DB, end func()) {
	t.Helper()
	d, err := state.Open(context.WithoutCancel(t.Context()), Spec(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := d.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return d, end
}

// copied copies the tables of one schema into another, each with its next id.
const copied = `DO $$ DECLARE one record; last bigint; BEGIN
	FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = '%[1]s' LOOP
		EXECUTE format('CREATE TABLE %[2]s.%%I (LIKE %[1]s.%%1$I INCLUDING ALL)', one.name);
		EXECUTE format('INSERT INTO %[2]s.%%I OVERRIDING SYSTEM VALUE SELECT * FROM %[1]s.%%1$I', one.name);
	END LOOP;
	FOR one IN SELECT table_name AS name, column_name AS id FROM information_schema.columns WHERE table_schema = '%[1]s' AND is_identity = 'YES' LOOP
		EXECUTE format('SELECT COALESCE(MAX(%%I), 0) + 1 FROM %[2]s.%%I', one.id, one.name) INTO last;
		PERFORM setval(pg_get_serial_sequence(format('%[2]s.%%I', one.name), one.id), last, false);
	END LOOP; END $$`

// Copy copies the database of the state in one directory for another one, if it does not lie there.
func Copy(t testing.TB, from, to string) {
	t.Helper()
	if os.Getenv(Postgres) == "" {
		return
	}
	old, fresh := filepath.Base(Spec(from).Server.File), filepath.Base(Spec(to).Server.File)
	if _, err := Raw(t, to).Exec(fmt.Sprintf(copied, old, fresh)); err != nil {
		t.Fatal(err)
	}
}

// Raw opens the database of the state in dir beside the host, for a test that changes rows under its
// hands. It is closed when the test ends.
func Raw(t testing.TB, dir string) *sql.DB {
	t.Helper()
	s := Spec(dir)
	db, err := open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func open(s store.Spec) (*sql.DB, error) {
	if !s.OnServer() {
		return sql.Open("sqlite", "file:"+filepath.Join(s.Dir, s.File)+"?_pragma=busy_timeout(10000)")
	}
	c, err := postgres.Read(s.Server.File)
	if err != nil {
		return nil, err
	}
	return c.Open(postgres.Options{}), nil
}
