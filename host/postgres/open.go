package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Fence is the ownership with which a host writes.
type Fence struct {
	Cluster string // the lease's name
	Number  int64  // it grows with each owner
}

// DefaultLimit is below a third of the shortest lease that is usual, ten seconds.
const DefaultLimit = 3 * time.Second

// Options are how a database is opened.
type Options struct {
	// Fence, if not nil, is checked in each transaction, and with each write outside one, by the
	// function longshore_fence. The error is then ErrFenced.
	Fence *Fence

	// Limit is how long a statement, a wait for a lock, a pause in a transaction and silence on
	// the connection may last. It is below a third of the lease: what a host that hangs holds is
	// free before another one owns. Zero: without end, for a caller whose statements take long
	// and who holds nothing that others wait for.
	Limit time.Duration

	// Schema, if not empty, is where tables are looked for first, and where new ones are made.
	Schema string
}

// Quoted is a name of a schema or table, for a statement.
func Quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// Open returns the database for statements with ? and ?N. It connects when it is first used. A
// bool is bound as 0 or 1. The caller closes it.
func (c *Config) Open(o Options) *sql.DB {
	return sql.OpenDB(&connector{config: c, Options: o, numbers: &numbers{}})
}

// OpenNative returns the database for a library that writes statements and binds values as
// PostgreSQL takes them.
func (c *Config) OpenNative(o Options) *sql.DB {
	return sql.OpenDB(&connector{config: c, Options: o})
}

// connector makes connections. It is a driver.Connector.
type connector struct {
	Options
	config  *Config
	numbers *numbers // nil: statements are PostgreSQL's own
}

// Driver returns nothing that could open a connection by a name.
func (c *connector) Driver() driver.Driver { return noDriver{} }

type noDriver struct{}

func (noDriver) Open(string) (driver.Conn, error) {
	return nil, fmt.Errorf("open a database: only by a file with a connection string")
}

// Connect opens a connection and checks its server.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	raw, err := pgx.ConnectConfig(ctx, c.settings())
	if err != nil {
		return nil, c.config.unreachable(err)
	}
	if err := c.config.checkServer(ctx, raw); err != nil {
		_ = raw.Close(ctx)
		return nil, known(err)
	}
	return &conn{raw: raw, connector: c}, nil
}

// settings are those of each session.
func (c *connector) settings() *pgx.ConnConfig {
	s := c.config.conn.Copy()
	if c.Fence != nil {
		s.RuntimeParams["application_name"] = c.Fence.Session()
	} else if s.RuntimeParams["application_name"] == "" {
		s.RuntimeParams["application_name"] = "longshore"
	}
	if c.Schema != "" { // behind it is where longshore_fence is
		s.RuntimeParams["search_path"] = Quoted(c.Schema) + ", " + cmp.Or(s.RuntimeParams["search_path"], `"$user", public`)
	}
	if c.Limit > 0 {
		ms := strconv.FormatInt(c.Limit.Milliseconds(), 10)
		for _, name := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "tcp_user_timeout"} {
			s.RuntimeParams[name] = ms
		}
		dialer := net.Dialer{Control: silence(c.Limit), KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: c.Limit, Interval: max(c.Limit/3, time.Second), Count: 3}}
		s.DialFunc = dialer.DialContext
	}
	return s
}

// limited bounds a round trip. The server has answered before, or will not.
func (c *connector) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.Limit+c.Limit/4)
}

// unreachable says why there is no connection. A wrong password or name is the operator's to mend.
func (c *Config) unreachable(err error) error {
	cause := error(nil)
	if e, ok := err.(*pgconn.ConnectError); ok { //nolint:errorlint // pgx returns it as it is
		cause = e.Unwrap()
	}
	switch code := Code(err); {
	case len(code) == 5 && code[:2] == "28":
		return &Problem{Message: fmt.Sprintf("the %s refuses the user: %v", c, cause), Remedy: "correct the user or the password in " + c.file + ", or pg_hba.conf", Cause: err}
	case code == "3D000":
		return &Problem{Message: fmt.Sprintf("the %s does not exist", c), Remedy: "create it with createdb, or name another one in " + c.file, Cause: err}
	}
	return fmt.Errorf("connect to the %s: %w", c, known(err))
}

// Session is the application_name of the sessions that write with the fence. The next owner ends those
// of the last one by it. PostgreSQL keeps 63 bytes of it.
func (f Fence) Session() string { return fmt.Sprintf("longshore %s %d", f.Cluster, f.Number) }

// Connect returns a connection of its own, for what no database/sql does, such as LISTEN. Limit is that
// of Options. The caller closes it.
func (c *Config) Connect(ctx context.Context, limit time.Duration) (*pgx.Conn, error) {
	of := &connector{config: c, Options: Options{Limit: limit}}
	made, err := of.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return made.(*conn).raw, nil
}
