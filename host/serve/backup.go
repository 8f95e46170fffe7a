package serve

import (
	"cmp"
	"context"

	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/operator"
)

// backupPart copies the state once a day.
type backupPart struct {
	noClose
	*backup.Daily
}

func (h *Host) openBackup(context.Context) (Part, error) {
	h.backup = backup.NewDaily(h, h.State, h.opts.Log)
	return backupPart{Daily: h.backup}, nil
}

func (p backupPart) Apply(*live.Live)              { p.Wake() }
func (p backupPart) Run(ctx context.Context) error { p.Daily.Run(ctx); return nil }

// DailyBackup implements backup.Plan.
func (h *Host) DailyBackup() (backup.Options, bool) {
	cfg := h.Config()
	return backup.Options{
		Dir: cmp.Or(cfg.Backup.Directory, h.Layout.Backups()), Config: cfg.File, Layout: h.Layout,
		Program: h.opts.Version, Reserve: int64(cfg.Limits.FreeDisk), Keep: cfg.Backup.Keep,
	}, cfg.Backup.Keep > 0
}

// Backup implements operator.Machine.
func (h *Host) Backup() (b operator.Backup) {
	var err error
	b.Last, err, b.Known = h.backup.Last()
	if err != nil {
		b.Problem = err.Error()
	}
	return b
}
