package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

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
