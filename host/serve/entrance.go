package serve

import (
	"context"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	entry "github.com/longshore-bridge/longshore/host/door"
	"github.com/longshore-bridge/longshore/host/store"
)

// DoorOf is the store of an installation's tokens.
func DoorOf(c *config.Config) store.Spec { return entry.Store(c.Layout().Door(), HomeOf(c)) }

// openEntrance listens for assistants that share no directory with the host, if the
// configuration says so.
func (h *Host) openEntrance(ctx context.Context) (err error) {
	c := h.Config()
	if c.Door.Listen == "" {
		return nil
	}
	h.entrance, err = entry.Open(ctx, entry.Options{
		Listen: c.Door.Listen, Hosts: c.Door.Hosts, Dir: h.Layout.Door(), Home: HomeOf(c),
		Groups: h.Registry, Chat: h.contextOf, Spool: h.spool, Wait: h.wait,
		Keep:    func() time.Duration { return h.Config().Limits.KeepResults.Std() },
		Quota:   func() int64 { return int64(h.Config().Limits.Outbox) },
		Reserve: h.opts.disk.reserve, Log: h.opts.Log,
	})
	return err
}
