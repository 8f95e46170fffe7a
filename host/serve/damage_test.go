package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// TestADamagedPageOfARunningHostWasSilent: messages were refused, and no view said why.
func TestADamagedPageOfARunningHostWasSilent(t *testing.T) {
	b := newBoundary(t, nil)
	if all := b.host.ofStores(); len(all) > 0 {
		t.Fatalf("%+v", all)
	}
	bad := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(bad, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.host.State.QueryRowContext(t.Context(), `ATTACH ? AS bad`, bad).Err(); err == nil { // as if it were a page of the state
		t.Fatal("what is no database was attached")
	}
	all := b.host.ofStores()
	if len(all) != 1 || all[0].Name != finding.Damaged || all[0].Part != "state" || !strings.Contains(all[0].Remedy, "backup") || operator.RefusalOf(all) == nil {
		t.Errorf("%+v", all)
	}
}

// TestTooManyOpenFilesWereSixFindings with six remedies.
func TestTooManyOpenFilesWereSixFindings(t *testing.T) {
	if all := ofLimits(); len(all) > 0 {
		t.Fatalf("%+v", all)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	all := ofLimits()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Name != finding.FilesFew || operator.RefusalOf(all) == nil {
		t.Errorf("%+v", all)
	}
}
