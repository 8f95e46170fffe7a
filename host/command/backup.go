package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/backup"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/move"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
	"github.com/longshore-bridge/longshore/media"
)

func newBackup(e *env) *cobra.Command {
	var secrets bool
	var keep int
	cmd := &cobra.Command{
		Use:   "backup DIRECTORY",
		Short: "copy the whole installation, while the host runs or not",
		Long: `backup copies the state directory and longshore.yaml into a new directory below
DIRECTORY, named after the time. The host may run meanwhile: everything it
decides by is of one moment. Only the user who makes the backup can read it, and
it holds the channels' keys: treat it as a secret. The command needs the host's
user, or root.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return terminal.Usage("no directory given", "usage: "+cmd.UseLine())
			}
			if len(args) > 1 {
				return terminal.NoCommand(cmd, args[0])
			}
			return e.backup(cmd.Context(), args[0], secrets, keep)
		},
	}
	cmd.Flags().BoolVar(&secrets, "secrets", false, "copy the files of secrets that longshore.yaml names, too")
	cmd.Flags().IntVar(&keep, "keep", 0, "delete the oldest backups in DIRECTORY, so that this `number` is left")
	cmd.AddCommand(terminal.Verb("verify BACKUP", "read a whole backup and compare it with its manifest",
		func(cmd *cobra.Command, args []string) error { return e.verifyBackup(cmd.Context(), args[0]) }))
	return cmd
}

func (e *env) backup(ctx context.Context, dir string, secrets bool, keep int) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	o := backup.Options{
		Dir: dir, Config: cfg.File, Layout: cfg.Layout(), Stores: serve.StoresOf(cfg, false), Program: readVersion(e.version).Version,
		Reserve: int64(cfg.Limits.FreeDisk), Keep: keep, Now: time.Now(),
	}
	if secrets {
		o.Secrets = cfg.SecretFiles
	}
	r, err := backup.Take(ctx, o)
	switch {
	case errors.Is(err, store.ErrFull):
		return terminal.Hinted(err, "make room, or name a directory on another disk")
	case errors.Is(err, store.ErrLocked), errors.Is(err, backup.ErrBusy):
		return terminal.Hinted(err, "try again in a minute")
	case err != nil:
		return err
	case e.JSON:
		return e.PrintJSON(r)
	}
	e.Say("%s: %s in %s; the host waited %s", r.Dir, media.Size(r.Bytes), media.Count(r.Files, "file"), r.Frozen.Round(time.Millisecond).String())
	for _, path := range r.Unread {
		fmt.Fprintf(e.Stderr, "warning: not in the backup, since it cannot be read: %s\n", media.Printable(path))
	}
	for _, path := range r.Sparse {
		fmt.Fprintf(e.Stderr, "warning: not in the backup, since its holes and those of its group's files before it are more than 64 GiB: %s\n", media.Printable(path))
	}
	for _, path := range r.Gone {
		e.Say("deleted %s", path)
	}
	if n := len(cfg.SecretFiles); n > 0 && !secrets {
		e.Say("%s that longshore.yaml names with secrets: not in the backup (--secrets)", media.Count(n, "file"))
	}
	return nil
}

func (e *env) verifyBackup(ctx context.Context, dir string) error {
	c, err := backup.Verify(ctx, dir)
	if err != nil {
		return err
	}
	err = e.Answer(c, func() error {
		e.Say("backup of %s by longshore %s: %s in %s", c.Taken.Local().Format(time.DateTime), c.Program, media.Size(c.Bytes), media.Count(c.Files, "file"))
		for _, line := range c.Wrong {
			e.Say("wrong: %s", line)
		}
		for _, path := range c.Strange {
			e.Say("not in the manifest: %s", path)
		}
		return nil
	})
	if err == nil && len(c.Wrong)+len(c.Strange) > 0 {
		return &terminal.Error{Code: terminal.ExitFailed, Err: errors.New("the backup is damaged"), Hint: "use another backup"}
	}
	return err
}

func newRestore(e *env) *cobra.Command {
	var unused bool
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "make an installation of a backup, while no host runs",
		Long: `restore copies the state directory of BACKUP to where the configuration (-c) has
it, which must be missing or empty. A daily backup also goes into a state
directory whose state was lost or set aside. If there is no configuration file,
restore takes that of the backup.

The old host may have sent messages after the backup was made. Unsent messages
of the backup are sent again under the same ids: a platform that knows its ids,
or can be asked, shows them once; on others they end as uncertain, and
"longshore queue retry" sends them. Requests that nobody had taken wait in
"longshore errors list".`,
		Args: terminal.Exactly("backup"),
		RunE: func(cmd *cobra.Command, args []string) error { return e.restore(cmd.Context(), args[0], unused) },
	}
	cmd.Flags().BoolVar(&unused, "nothing-sent", false, "no host has run since the backup: send what was unsent, and take the requests")
	return cmd
}

func (e *env) restore(ctx context.Context, dir string, nothingSent bool) error {
	if l, found := config.LayoutOf(e.Config, e.platforms); found {
		if host, err := e.hostOf(ctx, l); err != nil {
			return err
		} else if host != nil {
			return terminal.Hinted(operator.ErrRunning, "stop the host first")
		}
	}
	path, err := filepath.Abs(e.Config)
	if err != nil {
		return err
	}
	if cfg, err := e.load(); err == nil { // else it comes with the backup, or the restore says what is wrong
		if there, err := serve.StateOf(cfg).Present(ctx); err != nil {
			return err
		} else if there && serve.StateOf(cfg).OnServer() {
			return terminal.Hinted(errors.New("the PostgreSQL database has a state"), "to move it away: "+e.Command("store", "set-aside", "state"))
		}
	}
	into := restored{env: e, nothingSent: nothingSent}
	done, err := backup.Restore(ctx, backup.Restoring{Backup: dir, Config: path, Into: &into})
	if err == nil {
		err = e.toServer(ctx)
	}
	if err != nil {
		return err
	}
	if e.JSON {
		return e.PrintJSON(map[string]any{"restored": done, "doubtful_messages": into.parts, "held_requests": into.requests})
	}
	e.printRestored(dir, done, into.parts, into.requests)
	return nil
}

// toServer moves a restored state to the PostgreSQL that the configuration names, if it names one.
func (e *env) toServer(ctx context.Context) error {
	cfg, err := e.load()
	if err != nil || !serve.StateOf(cfg).OnServer() {
		return nil //nolint:nilerr // doctor and serve say what is wrong with the configuration
	}
	m := moving{to: "postgres"}
	t, err := e.own(ctx, cfg)
	if err == nil {
		_, err = e.moveAll(ctx, m.options(cfg, t.of()))
		if errors.Is(err, move.ErrMoved) {
			err = nil
		}
		err = errors.Join(err, t.end())
	}
	if err != nil {
		return terminal.Hinted(err, "the backup is restored into the state directory; when this is mended: "+e.Command("state", "move", "--to", "postgres"))
	}
	return nil
}

// restored is the installation that restore makes.
type restored struct {
	*env
	nothingSent bool  // the old host has sent nothing since the backup
	parts       int64 // messages that the old host may have sent since the backup
	requests    int   // requests that it may have carried
}

// LayoutOf implements backup.Installation.
func (r *restored) LayoutOf(path string) (groups.Layout, error) {
	l, found := config.LayoutOf(path, r.platforms)
	if !found {
		return l, fmt.Errorf("%s does not say where the state directory is", path)
	}
	return l, nil
}

// Prepare implements backup.Installation.
func (r *restored) Prepare(ctx context.Context, l groups.Layout, taken time.Time) error {
	spec := state.Spec(l.Own(), store.Home{Installation: l.Installation(), Aside: l.Aside()})
	there, err := store.Examine(ctx, spec, false)
	if err == nil && there {
		err = r.prepareState(ctx, spec, l, taken)
	}
	if err != nil || r.nothingSent {
		return err
	}
	r.requests, err = spool.HoldRequests(l.IPCDir(), ipc.Refusal{
		Code: "restored", Message: "it waited in the queue when the backup was made, and may have been carried since",
		Hint: "look into the chat; if it is not there: longshore errors retry",
	})
	return err
}

// prepareState makes files of the audit trail of a state that was in PostgreSQL, and marks the messages
// that the old host may have sent since the backup was taken.
func (r *restored) prepareState(ctx context.Context, spec store.Spec, l groups.Layout, taken time.Time) error {
	db, err := state.Open(ctx, spec, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	err = trailToFiles(ctx, db, l)
	if err == nil && !r.nothingSent {
		r.parts, err = records.MarkRestored(ctx, db, taken)
	}
	return errors.Join(err, db.Close())
}

func trailToFiles(ctx context.Context, db *state.DB, l groups.Layout) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := audit.ToFiles(ctx, tx, l.Audit()); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (e *env) printRestored(dir string, done backup.Restored, parts int64, requests int) {
	e.Say("restored %s as of %s", done.State, done.Taken.Local().Format(time.DateTime))
	if done.Config != "" {
		e.Say("wrote %s", done.Config)
	}
	for i, path := range done.Secrets {
		e.Say("a secret for you to put back: cp %s %s", filepath.Join(dir, "secrets", fmt.Sprint(i)), path)
	}
	if done.LeftOut > 0 {
		e.Say("%s of the state are not in the backup; see docs/operations.md", media.Count(done.LeftOut, "larger file"))
	}
	if parts > 0 {
		e.Say("%s may have been sent after the backup; see: %s", media.Count(int(parts), "unsent message"), e.Command("queue", "list"))
	}
	if requests > 0 {
		e.Say("%s may have been carried after the backup; see: %s", media.Count(requests, "request"), e.Command("errors", "list"))
	}
	e.Say("next: %s, then %s", e.Command("doctor"), e.Command("serve"))
}
