package store_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/longshore-bridge/longshore/host/postgres"
	"github.com/longshore-bridge/longshore/host/store"
)

// The operator of a state in PostgreSQL that had no connection left was told to mend what the message says.
func TestAServersErrorHadNoRemedyOfItsOwn(t *testing.T) {
	for want, err := range map[string]error{
		"max_connections":               &pgconn.PgError{Code: "53300"},
		"free space":                    &pgconn.PgError{Code: "53100"},
		"default_transaction_read_only": &pgconn.PgError{Code: "25006"},
		"start PostgreSQL":              postgres.ErrAway,
		"PostgreSQL's log":              postgres.ErrDoubtful,
	} {
		if got := store.OfServer(fmt.Errorf("record delivery: %w", err)); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q in it", err, got, want)
		}
	}
	if got := store.OfServer(fs.ErrPermission); got != "" {
		t.Errorf("an error of the disk: %q", got)
	}
}
