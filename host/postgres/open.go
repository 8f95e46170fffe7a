package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strconv"
	"strings"
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

	// Pause is how long a pause in a transaction may last if there is no Limit. Zero: without end.
	Pause time.Duration

	// Schema, if not empty, is where tables are looked for first, and where new ones are made.
	Schema string
}

// Quoted is a name of a schema or table, for a statement.
func Quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// longestSilence is when a session without a limit is taken for dead: the machine at its other end has lost its
// power or its network. Else it would live for hours, with its locks and its snapshot.
const longestSilence = time.Minute

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
	settings := c.settings()
	share(ctx, settings, cmp.Or(c.Limit, connectTime))
	raw, err := pgx.ConnectConfig(ctx, settings)
	if err != nil {
		return nil, c.config.unreachable(err)
	}
	if err := c.config.checkServer(ctx, raw); err != nil {
		_ = raw.Close(ctx)
		return nil, known(err)
	}
	if err := c.enter(ctx, raw); err != nil {
		_ = raw.Close(ctx)
		return nil, known(err)
	}
	return &conn{raw: raw, connector: c}, nil
}

// connectTime bounds a connection without a limit.
const connectTime = 10 * time.Second

// share gives each server of the connection string, and each address of its name, a part of the time: they are tried
// one after another, and a machine that has lost its power does not refuse.
func share(ctx context.Context, s *pgx.ConnConfig, limit time.Duration) {
	servers := map[string]string{net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))): s.Host}
	for _, f := range s.Fallbacks {
		servers[net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port)))] = f.Host
	}
	lookup, n := s.LookupFunc, time.Duration(0)
	found, errs := map[string][]string{}, map[string]error{}
	for _, host := range servers {
		if _, known := errs[host]; !known && !strings.HasPrefix(host, "/") {
			short, cancel := context.WithTimeout(ctx, limit/time.Duration(2*len(servers)))
			found[host], errs[host] = lookup(short, host)
			cancel()
		}
		n += time.Duration(max(1, len(found[host])))
	}
	s.LookupFunc = func(_ context.Context, host string) ([]string, error) { return found[host], errs[host] }
	s.ConnectTimeout = min(cmp.Or(s.ConnectTimeout, limit), limit/n)
}

// enter puts the schema before those of the database's user, where longshore_fence is.
func (c *connector) enter(ctx context.Context, raw *pgx.Conn) error {
	if c.Schema == "" {
		return nil
	}
	_, err := raw.Exec(ctx, `SELECT set_config('search_path', concat_ws(', ', $1::text, nullif(current_setting('search_path'), '')), FALSE)`, Quoted(c.Schema))
	return err
}

// settings are those of each session.
func (c *connector) settings() *pgx.ConnConfig {
	s := c.config.conn.Copy()
	if c.Fence != nil {
		s.RuntimeParams["application_name"] = c.Fence.Session()
	} else if s.RuntimeParams["application_name"] == "" {
		s.RuntimeParams["application_name"] = "longshore"
	}
	quiet := cmp.Or(c.Limit, longestSilence)
	alive := net.KeepAliveConfig{Enable: true, Idle: max(quiet/2, time.Second), Interval: max(quiet/6, time.Second), Count: 3}
	for name, n := range map[string]time.Duration{
		"statement_timeout": c.Limit / time.Millisecond, "lock_timeout": c.Limit / time.Millisecond,
		"idle_in_transaction_session_timeout": cmp.Or(c.Limit, c.Pause) / time.Millisecond, "tcp_user_timeout": quiet / time.Millisecond,
		"tcp_keepalives_idle": alive.Idle / time.Second, "tcp_keepalives_interval": alive.Interval / time.Second, "tcp_keepalives_count": 3,
	} {
		if n > 0 {
			s.RuntimeParams[name] = strconv.FormatInt(int64(n), 10)
		}
	}
	s.DialFunc = (&net.Dialer{Control: silence(quiet), KeepAliveConfig: alive}).DialContext
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
