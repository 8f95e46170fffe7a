package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/move"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

func newState(e *env) *cobra.Command {
	return terminal.Family("state", "look after the host's state", newStateMove(e))
}

// moving are the flags of state move.
type moving struct {
	to, file string
	replace  bool
}

func newStateMove(e *env) *cobra.Command {
	var m moving
	cmd := &cobra.Command{
		Use:   "move --to postgres|sqlite|place|directory",
		Short: "take the state's database to PostgreSQL or back, or its files elsewhere, while no host runs",
		Long: `move copies every table of the state, and the audit trail, into an empty PostgreSQL
database, or out of it into the state directory. It reads all back and compares it.
The new database appears as a whole or not at all; then the old one is set aside, and
nothing is deleted. If move is interrupted, run it again: it goes on.

The connection string is in the file that state.postgres.from_file names, or --from-file.
The workspaces and the queue stay where they are.

--to place copies the files above 16 KiB to the place that state.files names, and
compares them; --to directory brings them back.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return e.moveState(cmd.Context(), m) },
	}
	cmd.Flags().StringVar(&m.to, "to", "", "`WHERE` the state goes: postgres, sqlite, place or directory")
	cmd.Flags().StringVar(&m.file, "from-file", "", "`file` with the connection string, if longshore.yaml does not name it")
	cmd.Flags().BoolVar(&m.replace, "replace-texts", false, "put U+FFFD in place of what PostgreSQL does not take in texts")
	return cmd
}

func (e *env) moveState(ctx context.Context, m moving) (err error) {
	if !slices.Contains([]string{"postgres", "sqlite", "place", "directory"}, m.to) {
		return terminal.Usage("--to wants postgres, sqlite, place or directory", "to take the state to PostgreSQL: "+e.Command("state", "move", "--to", "postgres"))
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if host, err := e.hostOf(ctx, cfg.Layout()); err != nil {
		return err
	} else if host != nil {
		return terminal.Hinted(operator.ErrRunning, "stop the host first")
	}
	if m.to == "place" || m.to == "directory" {
		return e.moveFiles(ctx, cfg, m)
	}
	named, err := m.named(cfg)
	if err != nil {
		return err
	}
	t, err := e.own(ctx, named) // no host of another machine may own it meanwhile
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	r, err := e.moveAll(ctx, m.options(named, t.of()))
	if err != nil {
		return e.notMoved(err, m)
	}
	if e.JSON {
		return e.PrintJSON(r)
	}
	return e.printMoved(r, m.to == "postgres", named, cfg)
}

// moveAll moves each store that is not where it is to go. The error is move.ErrMoved if none was moved.
func (e *env) moveAll(ctx context.Context, all []move.Options) (sum move.Report, err error) {
	failed := move.ErrMoved
	for _, o := range all {
		o.Progress = moveSteps{e}
		r, err := move.Move(ctx, o)
		switch {
		case err == nil:
			sum.Add(r)
			failed = nil
		case errors.Is(err, move.ErrNone) && o.Audit == "", errors.Is(err, move.ErrMoved):
		default:
			return sum, err
		}
	}
	return sum, failed
}

// moveFiles moves the state's files above 16 KiB.
func (e *env) moveFiles(ctx context.Context, cfg *config.Config, m moving) error {
	place, err := serve.FilesOf(cfg)
	if err != nil {
		return err
	}
	if place == nil {
		return terminal.Usage("no place is named", "write state.files into longshore.yaml, as docs/operations.md says")
	}
	t, err := e.own(ctx, cfg) // no host of another machine may own the state meanwhile
	if err != nil {
		return err
	}
	r, err := move.Files(ctx, move.FilesOptions{
		State: serve.OwnState(cfg, t.of()), Place: place, Back: m.to == "directory", Now: time.Now(),
		Log: slog.New(slog.DiscardHandler), Progress: moveSteps{e},
	})
	err = errors.Join(err, t.end())
	if trouble, ok := errors.AsType[*blob.Trouble](err); ok {
		return terminal.Hinted(errors.New(trouble.Cause), trouble.Remedy)
	}
	if err != nil {
		return e.notMoved(err, m)
	}
	if e.JSON {
		return e.PrintJSON(r)
	}
	e.Say("%s copied and compared; %d were lost before", media.Count(r.Files, "file"), r.Lost)
	if r.Aside != "" {
		e.Say("the old ones are in %s", r.Aside)
	}
	if m.to == "directory" {
		e.Say("take state.files out of %s", cfg.File)
	}
	e.Say("then: %s", e.Command("serve"))
	return nil
}

// named is cfg with the PostgreSQL of the move.
func (m *moving) named(cfg *config.Config) (*config.Config, error) {
	named := *cfg
	if m.file != "" {
		path, err := filepath.Abs(m.file)
		if err != nil {
			return nil, err
		}
		named.State.Postgres.FromFile = path
	}
	if named.State.Postgres.FromFile == "" {
		return nil, terminal.Usage("no PostgreSQL is named", "write state.postgres.from_file into longshore.yaml, or give --from-file")
	}
	return &named, nil
}

// options are those of the moves that the flags want: the channels' stores, and then the state.
func (m *moving) options(named *config.Config, lease *cluster.Lease) (all []move.Options) {
	for _, s := range serve.StoresOf(named, false) {
		there := serve.Owned(s, lease)
		here := there
		here.Server = store.Server{}
		o := move.Options{From: here, To: there, Replace: m.replace, Now: time.Now()}
		if m.to == "sqlite" {
			o.From, o.To = there, here
		}
		if s.Library == nil {
			o.Audit = named.Layout().Audit()
		}
		all = append(all, o)
	}
	return all
}

// moveSteps prints how far a move is.
type moveSteps struct{ *env }

func (s moveSteps) Say(format string, args ...any) { fmt.Fprintf(s.Stderr, format+"\n", args...) }

func (e *env) notMoved(err error, m moving) error {
	if bad, ok := errors.AsType[*move.UnfitError](err); ok {
		for _, one := range bad.All {
			fmt.Fprintf(e.Stderr, "table %s, %s, column %s: %s\n", one.Table, one.Key, one.Column, one.Why)
		}
		hint := "nothing was written; --replace-texts puts U+FFFD in their place in the copy"
		if m.replace {
			hint = "nothing was written; correct these values with sqlite3"
		}
		return terminal.Hinted(err, hint)
	}
	switch {
	case errors.Is(err, move.ErrMoved):
		return terminal.Hinted(err, "say in longshore.yaml where it is, and start the host")
	case errors.Is(err, store.ErrLocked):
		return terminal.Hinted(err, "stop the host first; wait until the other command has ended")
	}
	return err
}

func (e *env) printMoved(r move.Report, toServer bool, named, cfg *config.Config) error {
	rows := int64(0)
	for _, one := range r.Tables {
		rows += one.Rows
	}
	e.Say("%d rows of %d tables and %d lines of the audit trail are as they were", rows, len(r.Tables), r.Trail)
	for _, place := range r.Aside {
		e.Say("the old ones are in %s", place)
	}
	file := named.State.Postgres.FromFile
	switch {
	case toServer && cfg.State.Postgres.FromFile != file:
		e.Say("in %s write:\nstate:\n  directory: %s\n  postgres: {from_file: %s}", cfg.File, cfg.State.Directory, file)
	case !toServer && cfg.State.Postgres.FromFile != "":
		e.Say("in %s write:\nstate: %s", cfg.File, cfg.State.Directory)
	}
	e.Say("then: %s", e.Command("serve"))
	return nil
}
