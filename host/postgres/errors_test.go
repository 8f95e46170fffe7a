package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/longshore-bridge/longshore/host/postgres"
)

// What is one change's own fault fails that change; anything else fails all that are committed with it.
func TestACommitFailedBecauseOfAnothersValue(t *testing.T) {
	for code, own := range map[string]bool{
		"54000": true, "54011": true, "21000": true, "0A000": true, "22001": true, "22P05": true, "23505": true, "42703": true, "44000": true,
		"": false, "40001": false, "40P01": false, "53100": false, "53300": false, "55P03": false, "57014": false, "58030": false, "25006": false, "XX001": false, "LS001": false,
	} {
		if got := postgres.OwnFault(fmt.Errorf("write: %w", &pgconn.PgError{Code: code})); got != own {
			t.Errorf("%s: %v", code, got)
		}
	}
}
