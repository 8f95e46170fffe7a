package history

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// ForgetFormer deletes the messages from before a time of each channel that is not configured, and
// has no later ones. It returns these channels.
func ForgetFormer(ctx context.Context, db *state.DB, configured []string, before time.Time, log *slog.Logger) (former []string, err error) {
	err = New(db, "").eachChannel(ctx, func(name string) error {
		if slices.Contains(configured, name) {
			return nil
		}
		s := New(db, name)
		newest, err := s.number(ctx, `SELECT COALESCE(MAX(time), 0) FROM page_message WHERE channel = ?`, name)
		if err != nil || newest >= before.UnixMilli() {
			return err
		}
		total, err := s.Forget(ctx, Rule{Before: before}, &Files{Store: db.Blobs, used: map[string]int64{}})
		if total > 0 {
			log.Info("old messages of a channel that is not configured deleted", "channel", name, "messages", total)
		}
		if err != nil {
			return err
		}
		former = append(former, name)
		if err := s.exec(ctx, "DELETE FROM page_act WHERE channel = ? AND time < ?", name, before.UnixMilli()); err != nil {
			return err
		}
		return s.ExpireGone(ctx)
	})
	return former, err
}

// eachChannel calls see for every channel that has or had messages.
func (s *Store) eachChannel(ctx context.Context, see func(name string) error) error {
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
