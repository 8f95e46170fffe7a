package serve

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// The state has the groups that register_group made; longshore.yaml has what the operator wrote,
// and says which of them are served: see config.Parse.

// Known is what a state knows of groups.
type Known struct {
	Registered []groups.Group
	Served     []string // folders of the groups that the host has served
}

// Knows reads what the state of c knows of groups; nothing if there is no state. It changes
// nothing. look is store.Look or store.Glance.
func Knows(ctx context.Context, c *config.Config, look func(context.Context, store.Spec) (*store.View, error)) (k Known, err error) {
	view, err := look(ctx, StateOf(c))
	if err != nil || view == nil {
		return Known{}, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if k.Registered, err = registeredIn(ctx, view.DB); err == nil {
		k.Served, err = servedIn(ctx, view.DB)
	}
	return k, store.Words(err)
}

func (h *Host) registered(ctx context.Context) ([]groups.Group, error) {
	all, err := registeredIn(ctx, h.State.DB.DB)
	if err != nil {
		return nil, fmt.Errorf("read the registered groups: %w", store.Words(err))
	}
	return all, nil
}

func registeredIn(ctx context.Context, db *sql.DB) ([]groups.Group, error) {
	rows, err := db.QueryContext(ctx, `SELECT folder, chat, name, word, maker FROM registered_group ORDER BY made, folder`)
	return state.All(rows, err, func(rows *sql.Rows) (g groups.Group, err error) {
		err = rows.Scan(&g.Folder, &g.Chat, &g.Name, &g.Trigger, &g.RegisteredBy)
		return g, err
	})
}

// withRegistered is the configuration with the groups that the state has. Its secrets are read again.
func (h *Host) withRegistered(ctx context.Context, cfg *config.Config) (*config.Config, error) {
	registered, err := h.registered(ctx)
	if err != nil || len(registered) == 0 {
		return cfg, err
	}
	next, err := cfg.With(registered)
	if err == nil && h.opts.Lease != nil {
		h.opts.Lease.Host().SetConfig(next.Common())
	}
	return next, err
}
