package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
)

// SetupOf is what the host gives a channel of its configuration.
func SetupOf(cfg *config.Config, c config.Channel, log *slog.Logger) channel.Setup {
	return setupOf(cfg, c, Options{Log: log, disk: &scratch{dir: cfg.State, keep: func() int64 { return int64(cfg.Limits.FreeDisk) }}})
}

// setupOf is SetupOf with what the Host lends a channel.
func setupOf(cfg *config.Config, c config.Channel, o Options) channel.Setup {
	s := channel.Setup{
		Name: c.Name, Settings: c.Settings, Dir: dirOf(cfg, c), Home: HomeOf(cfg),
		Assistant: cfg.Name, FreeDisk: int64(cfg.Limits.FreeDisk), Tools: cfg.MediaTools, Log: o.Log,
		Reserve: o.disk.Reserve, Room: o.disk.room, Knock: o.door.of(c.Name), Tasks: o.book.of(c.Name), Links: o.links, Clock: o.clock.of(c.Name),
	}
	for _, g := range cfg.Groups {
		if c.Carries(g) {
			named := channel.NamedChat{JID: g.Chat, Name: g.Name, Heard: g.History == groups.HistoryAll && g.Assistant != ""}
			if g.Hints != groups.HintsOff && g.Assistant != "" {
				named.Trigger = g.Trigger
			}
			s.Chats = append(s.Chats, named)
		}
	}
	return s
}

// dirOf is the directory of a channel; no two have one.
func dirOf(cfg *config.Config, c config.Channel) string {
	if c.Name == c.Platform.Key && c.Platform.Dir != nil {
		return c.Platform.Dir(cfg.Layout())
	}
	return cfg.Layout().Named(c.Name)
}

// openChannels opens what channels take of the machine. A host that will not be
// run takes nothing.
func (h *Host) openChannels(ctx context.Context) error {
	for _, c := range h.Channels {
		if o, ok := c.(channel.Opener); ok && !h.opts.Idle {
			if err := o.Open(ctx); err != nil {
				return fmt.Errorf("channel %s: %w", c.Name(), err)
			}
		}
	}
	return nil
}

// configuredChannels makes the channels of longshore.yaml.
func configuredChannels(cfg *config.Config, opts Options) ([]channel.Channel, error) {
	var all []channel.Channel
	for _, c := range cfg.Channels {
		made, err := c.Platform.New(setupOf(cfg, c, opts))
		if err != nil {
			return nil, fmt.Errorf("channel %s: %w", c.Name, err)
		}
		all = append(all, made)
	}
	return all, nil
}

// Checks are the doctor's checks of the configured channels, and of the ways to
// transcribe.
func Checks(cfg *config.Config) (all []doctor.Check) {
	if len(cfg.Transcription) > 0 {
		all = append(all, func(ctx context.Context, _ bool) []doctor.Finding { return checkTranscription(ctx, cfg) })
	}
	for _, c := range cfg.Channels {
		if c.Platform.Examine == nil {
			continue
		}
		setup := SetupOf(cfg, c, slog.New(slog.DiscardHandler))
		all = append(all, func(ctx context.Context, running bool) []doctor.Finding {
			return c.Platform.Examine(ctx, setup, running)
		})
	}
	return all
}
