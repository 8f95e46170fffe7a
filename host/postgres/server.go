package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const oldest = 150000 // PostgreSQL 15, as server_version_num counts

// checkServer refuses a server that would not keep what it acknowledges. It runs on each new
// connection: behind one address there may be another server than before.
func (c *Config) checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var standby bool
	var readOnly, commits, standbys, encoding string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(), current_setting('transaction_read_only'),
		current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), current_setting('server_encoding')`,
		pgx.QueryExecModeSimpleProtocol).Scan(&version, &standby, &readOnly, &commits, &standbys, &encoding)
	if err != nil {
		return err
	}
	switch {
	case version < oldest:
		return c.refused(fmt.Sprintf("is version %d", version/10000), "use PostgreSQL 15 or newer")
	case standby:
		return c.refused("is a standby, which takes no writes", "name the primary in the connection string, or several hosts with target_session_attrs=read-write")
	case readOnly == "on":
		return c.refused("is read-only", "find out why default_transaction_read_only is on, and set it to off for the host's user")
	case commits == "off":
		return c.refused("acknowledges commits before they are on its disk (synchronous_commit = off)", "set synchronous_commit to on for the host's user")
	case commits == "local" && standbys != "":
		return c.refused("acknowledges commits before its synchronous standby has them (synchronous_commit = local)", "set synchronous_commit to on for the host's user; or synchronous_standby_names to nothing")
	case encoding != "UTF8":
		return c.refused("does not use UTF-8 but "+encoding, "create a database with ENCODING 'UTF8'")
	}
	return nil
}

func (c *Config) refused(what, remedy string) error {
	return &Problem{Message: "the " + c.String() + " " + what, Remedy: remedy}
}
