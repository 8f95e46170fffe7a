package serve

import (
	"log/slog"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
)

// setupsOf notes with what its channels are made.
type setupsOf struct {
	channel.Platform
	setups []channel.Setup
}

func (*setupsOf) Key() string { return "noted" }

func (p *setupsOf) New(s channel.Setup) (channel.Channel, error) {
	p.setups = append(p.setups, s)
	return offline{}, nil
}

// Each channel counted its temporary bytes for itself, so that together they took
// what was to stay free.
func TestAllChannelsShareOneCountOfTemporaryBytes(t *testing.T) {
	platform := &setupsOf{}
	cfg := &config.Config{State: config.State{Directory: t.TempDir()}, Channels: config.Channels{{Name: "one", Platform: platform}, {Name: "two", Platform: platform}}}
	h, err := New(t.Context(), cfg, Options{Log: slog.New(slog.DiscardHandler), Idle: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	release, err := platform.setups[0].Host.Reserve(5000)
	if err != nil {
		t.Fatal(err)
	}
	if h.disk.reserved != 5000 {
		t.Errorf("the host counts %d", h.disk.reserved)
	}
	if _, err := platform.setups[1].Host.Reserve(1); err != nil || h.disk.reserved != 5001 {
		t.Errorf("with the second channel the host counts %d: %v", h.disk.reserved, err)
	}
	release()
	if h.disk.reserved != 1 {
		t.Errorf("in the end the host counts %d", h.disk.reserved)
	}
}
