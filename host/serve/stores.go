package serve

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

// HomeOf is where the stores of an installation meet.
func HomeOf(c *config.Config) store.Home {
	return store.Home{Installation: c.Layout().Installation(), Aside: c.Layout().Aside()}
}

// StateOf describes the state of an installation.
func StateOf(c *config.Config) store.Spec { return state.Spec(c.Layout().Own(), HomeOf(c)) }

// StoresOf are the stores of an installation that can be there, in the order
// in which serve opens them. With configured they are those that serve opens.
func StoresOf(c *config.Config, configured bool) []store.Spec {
	var all []store.Spec
	for _, p := range c.Platforms {
		for _, one := range channelsOf(c, p, configured) {
			all = append(all, p.Stores(SetupOf(c, one, nil))...)
		}
	}
	if !configured || c.KeepsKeys() {
		all = append(all, UsageOf(c))
	}
	return append(all, outbox.Store(c.Layout().Outbox(), HomeOf(c)), StateOf(c))
}

// channelsOf are the channels of a platform: those that are configured, and,
// unless only they are asked for, the one that bears the platform's name.
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

// checkStores refuses to begin if a store would not be opened: what one part
// has begun with, such as a sweep, must not come before that.
func checkStores(ctx context.Context, c *config.Config) error {
	for _, s := range StoresOf(c, true) {
		if err := store.Check(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
