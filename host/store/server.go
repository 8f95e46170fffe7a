package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// Server is the PostgreSQL that holds a store's database. The zero Server is none: the database is a
// file. The store's directory then has the lock, the marker and the files alone.
type Server struct {
	File  string          // with the connection string
	Fence *postgres.Fence // of the host that writes; nil: nobody else does
	Limit time.Duration   // of postgres.Options; zero: its default
}

// OnServer reports whether the store's database is in PostgreSQL.
func (s Spec) OnServer() bool { return s.Server.File != "" }

// place is where the database is, for messages.
func (s Spec) place() string {
	if s.OnServer() {
		return "the PostgreSQL that " + s.Server.File + " names"
	}
	return s.path()
}

// dial opens the database. With a limit nothing that hangs stays.
func (s Spec) dial(limit time.Duration) (*sql.DB, error) {
	c, err := postgres.Read(s.Server.File)
	if err != nil {
		return nil, s.ofServer("open", err)
	}
	return c.Open(postgres.Options{Fence: s.Server.Fence, Limit: limit, Schema: s.schema()}), nil
}

// dialNative is dial for the store's Library.
func (s Spec) dialNative(limit time.Duration) (*sql.DB, error) {
	c, err := postgres.Read(s.Server.File)
	if err != nil {
		return nil, s.ofServer("open", err)
	}
	return c.OpenNative(postgres.Options{Fence: s.Server.Fence, Limit: limit, Schema: s.schema()}), nil
}

// schema has the tables of a Library; empty: the store's are where the user's tables are.
func (s Spec) schema() string {
	if s.Library == nil {
		return ""
	}
	return "channel_" + s.Name
}

// row is the table with the store's row, for to_regclass.
func (s Spec) row() string {
	if s.Library == nil {
		return "longshore_store"
	}
	return postgres.Quoted(s.schema()) + ".longshore_store"
}

func (s Spec) limit() time.Duration {
	if s.Server.Limit > 0 {
		return s.Server.Limit
	}
	return postgres.DefaultLimit
}

// ofServer explains an error of the server.
func (s Spec) ofServer(op string, err error) error {
	if p, ok := errors.AsType[*postgres.Problem](err); ok {
		return &Error{Kind: ErrUnreadable, Store: s.Name, Message: "the " + s.Name + " cannot be used: " + p.Message, Remedy: p.Remedy, Cause: p.Cause}
	}
	if errors.Is(err, postgres.ErrAway) {
		return &Error{
			Kind: postgres.ErrAway, Store: s.Name, Cause: err, Message: fmt.Sprintf("the %s cannot be reached: %v", s.Name, err),
			Remedy: "start PostgreSQL, or correct the connection string in " + s.Server.File,
		}
	}
	return s.Explain(op, err)
}

// surveyServer is survey and inspect of a database in PostgreSQL.
func (s Spec) surveyServer(ctx context.Context, db *sql.DB) (found survey, err error) {
	if found, err = s.surveyMarks(); err != nil {
		return found, err
	}
	if found.inside, err = s.readRow(ctx, db); err != nil {
		return found, s.ofServer("read", err)
	}
	found.present = found.inside != (mark{})
	if !found.present {
		return found, s.emptyServer(found)
	}
	if err := errors.Join(s.agree(found, found.marker, "its marker"), s.agree(found, found.inside, "it")); err != nil {
		return found, err
	}
	if max(found.inside.Version, found.marker.Version) > s.version() {
		return found, s.newer()
	}
	return found, s.filesThere(found)
}

// emptyServer refuses a database without tables if the directory says that there were some.
func (s Spec) emptyServer(found survey) error {
	if found.marker == (mark{}) && !found.reference {
		return nil
	}
	return &Error{
		Kind: ErrMissing, Store: s.Name,
		Message: fmt.Sprintf("the PostgreSQL database that %s names is empty, and this installation has used its %s before, there or in %s", s.Server.File, s.Name, s.path()),
		Remedy:  "move the state there with `longshore state move --to postgres`; or name the right database in the file, or restore that from a backup; or " + s.setAsideWords(),
	}
}

// readRow reads a database's mark; zero if it has no tables.
func (s Spec) readRow(ctx context.Context, db *sql.DB) (m mark, err error) {
	var there bool
	err = db.QueryRowContext(ctx, `SELECT to_regclass(?) IS NOT NULL`, s.row()).Scan(&there)
	if err == nil && there {
		err = db.QueryRowContext(ctx, `SELECT name, installation, version FROM longshore_store`).Scan(&m.Store, &m.Installation, &m.Version)
	}
	return m, err
}

// openServer is Open of a database in PostgreSQL.
func (s Spec) openServer(ctx context.Context) (_ *DB, err error) {
	slow, err := s.dial(0) // new tables take their time
	if err != nil {
		return nil, err
	}
	defer slow.Close()
	found, err := s.surveyServer(ctx, slow)
	if err != nil {
		return nil, err
	}
	id, err := s.Home.id(found)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(makeDir(s.Dir), s.makeFiles()); err != nil {
		return nil, s.Explain("make", err)
	}
	made, err := s.migrateServer(ctx, slow, id, nil)
	if err != nil {
		return nil, s.ofServer("bring up to date", err)
	}
	if err := s.writeMarks(found, id); err != nil {
		return nil, err
	}
	open := s.dial
	if s.Library != nil {
		open = s.dialNative
	}
	db, err := open(s.limit())
	if err != nil {
		return nil, err
	}
	return &DB{DB: db, Made: made, server: true}, nil
}

// upgradeLibrary has the library make its tables, in transactions of its own.
func (s Spec) upgradeLibrary(ctx context.Context) error {
	if s.Library == nil {
		return nil
	}
	db, err := s.dialNative(0)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+postgres.Quoted(s.schema()))
	if err == nil {
		err = s.Library.Upgrade(ctx, db, true)
	}
	return errors.Join(err, db.Close())
}

// making is the number of the lock that lets one host at a time change tables; it is any.
const making = 0x6c73746f7265

// migrateServer makes the tables with the rows of f, if it is not nil, or runs the steps that have not run
// yet: all or none of them.
func (s Spec) migrateServer(ctx context.Context, db *sql.DB, id string, f Filler) (made bool, err error) {
	if err := s.upgradeLibrary(ctx); err != nil {
		return false, err
	}
	if now, err := s.readRow(ctx, db); err != nil || now != (mark{}) && now.Version == s.version() {
		return false, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(?)`, int64(making)); err != nil {
		return false, err
	}
	version := 0
	if err := tx.QueryRowContext(ctx, `SELECT to_regclass(?) IS NULL`, s.row()).Scan(&made); err != nil {
		return false, err
	}
	scripts := []string{postgres.Row, s.Schema}
	if !made && s.Library == nil { // another host may have been faster
		if err := tx.QueryRowContext(ctx, `SELECT version FROM longshore_store`).Scan(&version); err != nil {
			return false, err
		}
		scripts = s.Steps[min(version, s.version())-1:]
	}
	for _, script := range scripts {
		if _, err := tx.ExecContext(ctx, InPostgres(script)); err != nil {
			return false, err
		}
	}
	if made {
		_, err = tx.ExecContext(ctx, `INSERT INTO longshore_store (name, installation, version) VALUES (?, ?, ?)`, s.Name, id, s.version())
	} else {
		_, err = tx.ExecContext(ctx, `UPDATE longshore_store SET version = ?`, max(version, s.version()))
	}
	if err == nil && f != nil {
		if !made { // another host was faster
			return false, ErrPresent
		}
		err = f.Fill(ctx, tx)
	}
	if err != nil {
		return false, err
	}
	return made, tx.Commit()
}

// lookServer opens an existing database to read it, as it is at each moment.
func (s Spec) lookServer(ctx context.Context) (*View, error) {
	db, err := s.dial(s.limit())
	if err != nil {
		return nil, err
	}
	found, err := s.surveyServer(ctx, db)
	if err != nil || !found.present {
		return nil, errors.Join(err, db.Close())
	}
	return &View{DB: db}, nil
}

// tableBytes is how much the tables of a schema take.
const tableBytes = `SELECT COALESCE(sum(pg_total_relation_size((quote_ident(schemaname) || '.' || quote_ident(tablename))::regclass)), 0)::bigint FROM pg_tables WHERE schemaname = current_schema()`

// planServer is PlanOf.
func (s Spec) planServer(ctx context.Context, p Plan) Plan {
	v, err := s.lookServer(ctx)
	if p.Present, p.Err = v != nil || err != nil, err; v == nil {
		return p
	}
	row, err := s.readRow(ctx, v.DB)
	if err == nil {
		err = v.QueryRowContext(ctx, tableBytes).Scan(&p.Bytes)
	}
	p.Version, p.Err = row.Version, errors.Join(s.ofServer("read", err), v.Close())
	return p
}

// examineServer is Check and Examine. PostgreSQL checks its own pages.
func (s Spec) examineServer(ctx context.Context) (there bool, err error) {
	v, err := s.lookServer(ctx)
	if v == nil {
		return err != nil, err
	}
	return true, v.Close()
}

// inPostgres is what SQLite writes otherwise in a schema, and only there. PostgreSQL sorts texts by
// the rules of a language, unless a column says that it sorts them by their bytes, as SQLite does.
var inPostgres = []struct {
	sqlite *regexp.Regexp
	other  string
}{
	{regexp.MustCompile(`--[^\n]*`), ""},
	{regexp.MustCompile(`INTEGER\s+PRIMARY KEY( AUTOINCREMENT)?`), "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"},
	{regexp.MustCompile(`\bINTEGER\b`), "BIGINT"},
	{regexp.MustCompile(`\bBLOB\b`), "BYTEA"},
	{regexp.MustCompile(`\bTEXT\b`), `TEXT COLLATE "C"`},
	{regexp.MustCompile(`\) WITHOUT ROWID`), ")"},
}

// InPostgres returns a schema in the words of PostgreSQL.
func InPostgres(sqlite string) string {
	for _, r := range inPostgres {
		sqlite = r.sqlite.ReplaceAllString(sqlite, r.other)
	}
	return sqlite
}
