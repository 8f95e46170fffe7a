package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/host/state"
)

// unmade is a platform whose channels cannot be made.
type unmade struct{ channel.Platform }

func (unmade) New(channel.Setup) (channel.Channel, error) { return nil, errors.New("no room") }

// A channel that could not be made was a line of the log every 15 seconds, for as long as that lasted.
func TestAChannelThatIsDownForADayIsOneLineOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := unmade{push.Platform()}
		cfg := &config.Config{Channels: config.Channels{{Name: "push", Platform: p, Settings: p.Settings()}}}
		h := &Host{opts: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, madeOf: map[string]config.Channel{}}
		h.State = new(state.DB)
		h.lists = &taskLists{groups: &h.Current}
		h.Set(&live.Live{Config: cfg})
		h.Channels = h.configuredChannels(cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if err := (channelsPart{h}).Run(ctx); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines", n)
		}
	})
}
