package outbox

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// The operator looked for room on the host, which had enough.
func TestAFullDiskOfPostgreSQLWasTakenForTheHosts(t *testing.T) {
	for _, tt := range []struct {
		err  error
		says string
	}{
		{&pgconn.PgError{Code: "53100"}, "the host's database server"},
		{syscall.ENOSPC, "the host's disk"},
	} {
		full, ok := errors.AsType[*FullError](orDiskFull(tt.err))
		if !ok || full.Code != "disk_full" || !strings.Contains(full.Message, tt.says) {
			t.Errorf("%v: %+v", tt.err, full)
		}
	}
}
