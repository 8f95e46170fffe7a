package serve

import (
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// HomeOf returns the directories that the stores of an installation share.
func HomeOf(c *config.Config) store.Home {
	return store.Home{Installation: c.Layout().Installation(), Aside: c.Layout().Aside()}
}

// OwnerOf tells the installation of c from others that use the same container engine, or the same account
// on another machine: by its id, and by its directory, since a copy has the same id.
func OwnerOf(c *config.Config) (string, error) {
	id, err := HomeOf(c).ID()
	return id + " " + c.Layout().State, err
}

// StateOf describes the state of an installation.
func StateOf(c *config.Config) store.Spec {
	s := state.Spec(c.Layout().Own(), HomeOf(c))
	s.Server.File = c.State.Postgres.FromFile
	return s
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
