//go:build e2e

package postgres

import (
	"errors"
	"testing"

	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// After a restart of the server the process id of the lost session was another program's, whose session was ended.
func TestASessionWithAReusedProcessIDWasEnded(t *testing.T) {
	s := pgtest.Start(t)
	if _, errs := s.Psql("postgres", Row+`; INSERT INTO longshore_store VALUES ('test', '', 1)`); errs != "" {
		t.Fatal(errs)
	}
	c, err := Read(s.File("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	db := c.Open(Options{Limit: DefaultLimit})
	defer db.Close()
	w := NewWriter(db)
	defer w.Close()
	other, err := c.Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	if err := errors.Join(w.Begin(), w.Exec(`UPDATE longshore_store SET checked = 1`, nil), w.Commit()); err != nil {
		t.Fatal(err)
	}
	mine := w.of.pid
	w.of.pid = int64(other.PgConn().PID()) // as if it were that of before the restart
	if err := w.resolve(1, ErrAway); err == nil || errors.Is(err, ErrDoubtful) {
		t.Error(err)
	}
	if err := other.Ping(t.Context()); err != nil {
		t.Errorf("the other program's session: %v", err)
	}
	w.of.pid = mine
	if err := w.resolve(1, ErrAway); err == nil || errors.Is(err, ErrDoubtful) {
		t.Error(err)
	}
	if err := w.raw(func(c *conn) error { return c.raw.Ping(t.Context()) }); err == nil {
		t.Error("the writer's own session lives on")
	}
}
