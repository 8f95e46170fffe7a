package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// NoteTenure notes in the state directory the fence with which this machine owns, before being that of the
// last owner, 0: there was none. It reports false, and notes nothing, if that was another machine.
func NoteTenure(l groups.Layout, before, fence int64) (bool, error) {
	note := tenureOf(l)
	text, err := os.ReadFile(note)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read the last tenure: %w", err)
	}
	last, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // what is no number is no host's fence
	if before != 0 && last != before && last != fence {
		return false, nil
	}
	return true, writeTenure(note, fence)
}

func tenureOf(l groups.Layout) string { return filepath.Join(l.Installation(), "tenure") }

func writeTenure(note string, fence int64) error {
	err := os.MkdirAll(filepath.Dir(note), 0o700)
	if err == nil {
		err = safefs.WriteFile(note, fmt.Appendln(nil, fence), 0o600)
	}
	if err != nil {
		return fmt.Errorf("note the tenure: %w", err)
	}
	return nil
}

// holdQueue holds back what waits in this machine's queue if another host has owned since this one did: that
// host may have run the turns again, and this one's last commit may have recorded requests that are still there.
// The spool is not open yet.
func holdQueue(l groups.Layout, before, fence int64, log *slog.Logger) error {
	if own, err := NoteTenure(l, before, fence); own || err != nil {
		return err
	}
	held, err := spool.HoldRequests(l.IPCDir(), ipc.Refusal{
		Code: "taken_over", Message: "it waited on this machine while another host owned, and may have been carried since",
		Hint: "look into the chat; if it is not there: longshore errors retry",
	})
	if err != nil {
		return err
	}
	if held > 0 {
		log.Warn("requests are held back: they waited here while another host owned", "requests", held, "hint", "longshore errors list")
	}
	return writeTenure(tenureOf(l), fence)
}
