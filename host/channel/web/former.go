package web

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/state"
)

var _ channel.Former = platform{}

// ForgetFormer implements channel.Former. Nobody knows what keep such a channel has: its messages
// go when the newest has expired under the default, so that a start without the channel, which
// may have been a slip, deletes none of them.
func (p platform) ForgetFormer(ctx context.Context, db *state.DB, configured []string, log *slog.Logger) error {
	before := time.Now().Add(-p.Settings().(*Settings).Keep.Std())
	return newStore(db, "").eachChannel(ctx, func(name string) error {
		if slices.Contains(configured, name) {
			return nil
		}
		s := newStore(db, name)
		newest, err := s.number(ctx, `SELECT COALESCE(MAX(time), 0) FROM page_message WHERE channel = ?`, name)
		if err != nil || newest >= before.UnixMilli() {
			return err
		}
		total, err := s.forgetAll(ctx, rule{before: before}, &blobs{Store: db.Blobs, used: map[string]int64{}})
		if total > 0 {
			log.Info("old messages of a channel that is not configured deleted", "channel", name, "messages", total)
		}
		if err != nil {
			return err
		}
		for _, step := range []string{
			"DELETE FROM page_act WHERE channel = ? AND time < ?",
			"DELETE FROM page_session WHERE channel = ? AND made < ?",
			"DELETE FROM page_push WHERE channel = ? AND made < ?",
		} {
			if err := s.exec(ctx, step, name, before.UnixMilli()); err != nil {
				return err
			}
		}
		return s.expireAllGone(ctx)
	})
}

// eachChannel calls see for every channel that has or had messages.
func (s *store) eachChannel(ctx context.Context, see func(name string) error) error {
	for name := ""; ; {
		next, err := list(ctx, s, state.One[string], `SELECT COALESCE(MIN(channel), '') FROM (SELECT MIN(channel) AS channel FROM page_message WHERE channel > ?1
			UNION ALL SELECT MIN(channel) FROM page_gone WHERE channel > ?1) AS later`, name)
		if err != nil || next[0] == "" {
			return err
		}
		name = next[0]
		if err := see(name); err != nil {
			return err
		}
	}
}
