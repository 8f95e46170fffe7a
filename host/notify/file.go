package notify

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// maxFile is the largest file that is read, in bytes: thousands of faults.
const maxFile = 4 << 20

// read returns what was told. A file that cannot be read is as if it was missing: the
// worst is that an operator is told twice.
func (n *Notifier) read() (all []told) {
	f, err := os.Open(n.o.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		defer f.Close()
		err = json.NewDecoder(io.LimitReader(f, maxFile)).Decode(&all)
	}
	if err != nil {
		n.o.Log.Warn("what was told of faults cannot be read; they may be told again", "file", n.o.File, "error", err)
		return nil
	}
	return all
}

// write makes what was told durable. On a full disk it is not: a restart may then tell
// a fault again. The caller holds mu.
func (n *Notifier) write() {
	b, err := json.MarshalIndent(append([]told{}, n.told...), "", " ")
	if err == nil {
		err = safefs.WriteFile(n.o.File, append(b, '\n'), 0o600)
	}
	if err != nil {
		n.o.Log.Warn("what was told of faults is not recorded", "error", err)
	}
}
