package serve

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// SetupOf returns what a channel gets of its configuration if no host runs. The channel of a running
// host gets setupOf.
func SetupOf(cfg *config.Config, c config.Channel, log *slog.Logger) channel.Setup {
	own := &disk{dir: cfg.State.Directory, keep: fixedFree(cfg.Limits.FreeDisk)}
	s := channel.Setup{
		Name: c.Name, Settings: c.Settings, Dir: dirOf(cfg, c), Home: HomeOf(cfg), Server: StateOf(cfg).Server,
		Assistant: cfg.Name, FreeDisk: int64(cfg.Limits.FreeDisk), Tools: cfg.MediaTools, Log: log,
		Host: lent{disk: own},
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

// setupOf returns SetupOf with what h does for its channels.
func (h *Host) setupOf(cfg *config.Config, c config.Channel) channel.Setup {
	s := SetupOf(cfg, c, h.opts.Log)
	s.Server, s.State, s.Host, s.Tasks, s.Links = h.State.Spec.Server, h.State, lent{h.disk, h.pairing, h.clock, c.Name}, h.lists.of(c.Name), h.links
	return s
}

// lent implements channel.Host for one channel. pairing and clock are nil if no host runs.
type lent struct {
	*disk
	pairing *pairing
	clock   *clock
	channel string
}

func (l lent) ReportTime(platform time.Time) {
	if l.clock != nil {
		l.clock.set(l.channel, platform)
	}
}

func (l lent) ReportUnknown(c channel.UnknownChat) {
	if l.pairing != nil {
		l.pairing.report(l.channel, c)
	}
}

// dirOf returns the directory of a channel, which no other channel has.
func dirOf(cfg *config.Config, c config.Channel) string {
	if own, ok := c.Platform.(channel.OwnDirectory); ok && c.Name == c.Platform.Key() {
		return own.Dir(cfg.Layout())
	}
	return cfg.Layout().Named(c.Name)
}

// configuredChannels makes the channels of longshore.yaml, and opens none.
func (h *Host) configuredChannels(cfg *config.Config) (all []channel.Channel) {
	for _, c := range cfg.Channels {
		all = append(all, channel.NewHolder(h.makeChannel(cfg, c)))
	}
	return all
}

// makeChannel makes a channel of longshore.yaml. One that something keeps down is an offline that says
// so. The caller holds reloading, or New runs.
func (h *Host) makeChannel(cfg *config.Config, c config.Channel) channel.Channel {
	h.madeOf[c.Name] = c
	if p := cfg.WhyDown("channel " + c.Name); p != nil {
		return offline{c, c.Settings.Limits(), p.Message, nil}
	}
	made, err := c.Platform.New(h.setupOf(cfg, c))
	if err != nil {
		return offline{c, c.Settings.Limits(), err.Error(), err}
	}
	return made
}

// runAgain waits and makes a channel anew whose Run has failed. It returns false if ctx is done, or the
// channel cannot be made.
func (h *Host) runAgain(ctx context.Context, c channel.Channel, pause time.Duration, failed error) bool {
	holder, ok := c.(*channel.Holder)
	if !ok {
		return false
	}
	one, _ := h.Config().Channels.Named(c.Name())
	holder.Replace(offline{one, one.Settings.Limits(), failed.Error(), nil})
	if !wake.Sleep(ctx, pause) {
		return false
	}
	h.reloading.Lock()
	defer h.reloading.Unlock()
	one, _ = h.Config().Channels.Named(c.Name())
	holder.Replace(h.makeChannel(h.Config(), one))
	return true
}

// Checks returns the doctor's checks of the configured channels, of transcription, and of the place of
// the state's files, which a running host knows itself.
func Checks(cfg *config.Config) map[string]doctor.Check {
	all := map[string]doctor.Check{}
	if files, err := FilesOf(cfg); files != nil && err == nil {
		all["files"] = func(ctx context.Context, running bool) []finding.Finding {
			if running {
				return nil
			}
			return blob.Examine(ctx, files)
		}
	}
	if len(cfg.Transcription) > 0 {
		all["transcription"] = func(ctx context.Context, _ bool) []finding.Finding { return checkTranscription(ctx, cfg) }
	}
	for _, c := range cfg.Channels {
		setup := SetupOf(cfg, c, slog.New(slog.DiscardHandler))
		all["channel "+c.Name] = func(ctx context.Context, running bool) []finding.Finding {
			return c.Platform.Examine(ctx, setup, running)
		}
	}
	return all
}

// platforms implements turns.Platforms with the host's channels.
type platforms []channel.Channel

// Fetch opens a member's file at the platform of that channel. It fails for good if the channel is
// gone or cannot fetch files. One that is down is asked later.
func (all platforms) Fetch(ctx context.Context, name string, f channel.FileRef) (io.ReadCloser, error) {
	one := channel.Named(all, name)
	if s, down := one.(channel.StandIn); down {
		return nil, s.Held()
	}
	c, ok := one.(channel.Fetcher)
	if !ok {
		return nil, &channel.Error{Class: channel.Permanent, Code: "not_fetchable", Message: "its channel is configured no longer", Hint: "ask the member to send it again"}
	}
	return c.Fetch(ctx, f)
}

// RoleOf asks the platform for a member's role in a chat; unknown if the platform has no roles. If the
// channel is down, nobody knows.
func (all platforms) RoleOf(ctx context.Context, chat groups.Address, sender string) (channel.Role, error) {
	one := channel.Named(all, chat.Channel)
	if s, down := one.(channel.StandIn); down {
		return channel.RoleUnknown, s.Held()
	}
	r, ok := one.(channel.Roles)
	if !ok {
		return channel.RoleUnknown, nil
	}
	return r.RoleOf(ctx, chat.JID, sender)
}

// Typing shows or hides in a chat that somebody is writing, if the platform can.
func (all platforms) Typing(ctx context.Context, chat groups.Address, thread string, on bool) {
	if t, ok := channel.Named(all, chat.Channel).(channel.Typing); ok {
		t.Typing(ctx, chat.JID, thread, on)
	}
}

// HasThreads reports whether the chats of that channel have threads.
func (all platforms) HasThreads(name string) bool {
	c := channel.Named(all, name)
	return c != nil && c.Limits().Threads
}
