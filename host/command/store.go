package command

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

func newStore(e *env) *cobra.Command {
	return terminal.Family("store", "look after the host's databases and what belongs to them",
		&cobra.Command{
			Use:   "set-aside NAME",
			Short: "move a store out of the way, so that the host starts with an empty one",
			Long: `Moves a store (state, or that of a channel) out of the way: its database and all
that belongs to it go into a directory below aside in the state directory, and
the next start begins with an empty store. Nothing is deleted, then or later.
The host must not be running.`,
			Args: terminal.Exactly("name"),
			RunE: func(cmd *cobra.Command, args []string) error { return e.setAside(cmd, args[0]) },
		})
}

func (e *env) setAside(cmd *cobra.Command, name string) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	stores, names := storesCalled(cfg, name)
	if len(stores) == 0 {
		return terminal.Usage("no store is called "+name, "the stores are "+strings.Join(names, ", "))
	}
	if host, err := e.hostOf(cmd.Context(), cfg.Layout()); err != nil {
		return err
	} else if host != nil {
		return terminal.Hinted(operator.ErrRunning, "stop the host first")
	}
	var t *tenure
	if stores[0].OnServer() { // no host of another machine may own it meanwhile
		if t, err = e.own(cmd.Context(), cfg); err != nil {
			return err
		}
		for i := range stores {
			stores[i] = serve.Owned(stores[i], t.of())
		}
	}
	moved, err := store.SetAside(stores, time.Now())
	err = errors.Join(err, t.end())
	if err != nil {
		return err
	}
	answer := map[string]any{"store": name, "directory": moved.Dir, "schema": moved.Schema, "bytes": moved.Bytes}
	if moved.Schema != "" {
		e.Say("the tables of the store %s are in %s now", name, moved.Schema)
	}
	if moved.Dir == "" {
		return e.Done(answer, "nothing was there of the store %s; the host starts with an empty one", name)
	}
	return e.Done(answer, "%s of the store %s are in %s now; the host starts with an empty one\ndelete that directory when it is not needed any more",
		media.Size(moved.Bytes), name, moved.Dir)
}

// storesCalled returns the stores with that name on the command line, and the names of all stores.
func storesCalled(cfg *config.Config, name string) (found []store.Spec, names []string) {
	for _, s := range serve.StoresOf(cfg, false) {
		if s.Name == name {
			found = append(found, s)
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return found, names
}
