package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// rotate begins the first file, or the next one if this one is full.
func (l *Log) rotate() error {
	if l.file != nil && l.size < l.o.most {
		return nil
	}
	path := filepath.Join(l.o.Dir, fmt.Sprintf("%012d.jsonl", l.number+1))
	next, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		err = errors.Join(l.file.Sync(), l.file.Close())
	}
	l.file, l.size = next, 0
	return errors.Join(err, safefs.SyncDir(l.o.Dir))
}

// expire removes the files whose newest line is too old, but never the newest file.
func (l *Log) expire() {
	if l.o.Settings == nil {
		return
	}
	keep := l.o.Settings.AuditKeeps()
	all, err := files(l.o.Dir)
	if err != nil || keep == 0 {
		return
	}
	for _, path := range all[:max(0, len(all)-1)] {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < keep {
			return
		}
		l.o.Log.Info("an old file of the audit trail is removed", "file", filepath.Base(path))
		if err := os.Remove(path); err != nil {
			l.o.Log.Error("remove an old file of the audit trail", "error", err)
			return
		}
	}
}
