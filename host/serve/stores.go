package serve

import (
	"context"
	"errors"
	"log/slog"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/blob/s3"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// HomeOf returns the directories that the stores of an installation share.
func HomeOf(c *config.Config) store.Home {
	return store.Home{Installation: c.Layout().Installation(), Aside: c.Layout().Aside()}
}

func installationOf(c *config.Config) (engines.Installation, error) {
	id, err := HomeOf(c).ID()
	return engines.Installation{ID: id, Dir: c.Layout().State, Shared: StateOf(c).OnServer()}, err
}

// OwnerOf returns whose the containers and volumes of c are: docker.Runtime.Owner. It changes nothing.
func OwnerOf(ctx context.Context, c *config.Config) (owner string, err error) {
	of, err := installationOf(c)
	if err != nil {
		return "", err
	}
	view, err := store.Look(ctx, StateOf(c))
	if err != nil || view == nil {
		return "", err
	}
	owner, _, err = of.OwnerIn(ctx, view.DB)
	return owner, errors.Join(err, view.Close())
}

// StateOf describes the state of an installation.
func StateOf(c *config.Config) store.Spec {
	s := state.Spec(c.Layout().Own(), HomeOf(c))
	s.Server.File, s.Server.Limit = c.State.Postgres.FromFile, cluster.Limit(c.Cluster.Lease.Std())
	return s
}

// OwnState is StateOf for the owner of the state; nil: it is on this machine.
func OwnState(c *config.Config, lease *cluster.Lease) store.Spec {
	return Owned(StateOf(c), lease)
}

// Owned is a store for the owner of the state; nil: it is on this machine.
func Owned(s store.Spec, lease *cluster.Lease) store.Spec {
	if lease != nil && s.OnServer() {
		s.Server.Fence = &lease.Fence
	}
	return s
}

// FilesOf is where the state's files are, if not in its directory. It connects to nothing.
func FilesOf(c *config.Config) (blob.Place, error) {
	f := c.State.Files
	switch {
	case f.Directory != "":
		return blob.NewDirectory(f.Directory), nil
	case f.S3 != (config.S3{}):
		return s3.New(s3.Settings{Endpoint: f.S3.Endpoint, Region: f.S3.Region, Bucket: f.S3.Bucket, Prefix: f.S3.Prefix, KeyFile: f.S3.KeyFromFile, SecretFile: f.S3.SecretFromFile})
	}
	return nil, nil
}

// OpenState opens the state of an installation for its owner, see [OwnState] and [state.OpenAt].
func OpenState(ctx context.Context, c *config.Config, lease *cluster.Lease, log *slog.Logger) (*state.DB, error) {
	files, err := FilesOf(c)
	if err != nil {
		return nil, err
	}
	return state.OpenAt(ctx, OwnState(c, lease), files, log)
}

// StoresOf are the stores of an installation that can be there, in the order
// in which serve opens them. With configured they are those that serve opens.
func StoresOf(c *config.Config, configured bool) []store.Spec {
	var all []store.Spec
	for _, p := range c.Platforms {
		for _, one := range channelsOf(c, p, configured) {
			if own, ok := p.(channel.OwnStores); ok {
				all = append(all, own.Stores(SetupOf(c, one, nil))...)
			}
		}
	}
	return append(all, StateOf(c))
}

// channelsOf returns the configured channels of a platform. Unless configured is set, it adds the one
// with the platform's name, which may have been configured before.
func channelsOf(c *config.Config, p channel.Platform, configured bool) (all config.Channels) {
	for _, one := range c.Channels {
		if one.Platform.Key() == p.Key() {
			all = append(all, one)
		}
	}
	if _, there := c.Channels.Named(p.Key()); !there && !configured {
		all = append(all, config.Channel{Name: p.Key(), Platform: p, Settings: p.Settings()})
	}
	return all
}
