package serve

import (
	"context"
	"log/slog"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/blob/s3"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// HomeOf returns the directories that the stores of an installation share.
func HomeOf(c *config.Config) store.Home {
	return store.Home{Installation: c.Layout().Installation(), Aside: c.Layout().Aside()}
}

// StateOf describes the state of an installation.
func StateOf(c *config.Config) store.Spec {
	s := state.Spec(c.Layout().Own(), HomeOf(c))
	s.Server.File = c.State.Postgres.FromFile
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

// OpenState opens the state of an installation, see [state.OpenAt].
func OpenState(ctx context.Context, c *config.Config, log *slog.Logger) (*state.DB, error) {
	files, err := FilesOf(c)
	if err != nil {
		return nil, err
	}
	return state.OpenAt(ctx, StateOf(c), files, log)
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
