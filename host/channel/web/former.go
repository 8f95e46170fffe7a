package web

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/channel/web/webpush"
	"github.com/longshore-bridge/longshore/host/state"
)

var _ channel.Former = platform{}

// ForgetFormer implements channel.Former. Nobody knows what keep such a channel has: its messages
// go when the newest has expired under the default, so that a start without the channel, which
// may have been a slip, deletes none of them.
func (p platform) ForgetFormer(ctx context.Context, db *state.DB, configured []string, log *slog.Logger) error {
	before := time.Now().Add(-p.Settings().(*Settings).Keep.Std())
	former, err := history.ForgetFormer(ctx, db, configured, before, log)
	for _, name := range former {
		err = errors.Join(err, session.Forget(ctx, db, name, before), webpush.Forget(ctx, db, name, before))
	}
	return err
}
