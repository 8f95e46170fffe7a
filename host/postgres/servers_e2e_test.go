//go:build e2e

package postgres_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// silent is a server that accepts connections and answers none, as a machine whose program is stopped. It returns its port.
func silent(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// The first server of a connection string was silent. All tries to connect ended with it, and the second one, which the
// service had promoted, was never asked.
func TestASilentServerHidTheOneThatLives(t *testing.T) {
	s := pgtest.Start(t)
	for _, more := range []string{"", " connect_timeout=60 target_session_attrs=read-write"} {
		c := read(t, pgtest.Write(t, fmt.Sprintf("host=127.0.0.1,127.0.0.1 port=%d,%d user=longshore dbname=postgres%s", silent(t), s.Port, more)))
		conn, err := c.Connect(t.Context(), 6*time.Second)
		must(t, err)
		must(t, conn.Close(t.Context()))
		must(t, open(t, c, postgres.Options{}).Ping())
	}
}

// A session without a limit outlived its machine by two hours, with its locks and its snapshot.
func TestASessionOutlivedItsMachine(t *testing.T) {
	s := pgtest.Start(t)
	c := read(t, pgtest.Write(t, fmt.Sprintf("host=127.0.0.1 port=%d user=longshore dbname=postgres", s.Port)))
	db := open(t, c, postgres.Options{Pause: time.Minute})
	for name, want := range map[string]string{"tcp_keepalives_idle": "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3", "tcp_user_timeout": "60000", "idle_in_transaction_session_timeout": "1min", "statement_timeout": "0"} {
		var got string
		must(t, db.QueryRow(`SELECT current_setting(?)`, name).Scan(&got))
		if got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}
