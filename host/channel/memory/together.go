package memory

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Together is a Channel that takes several messages at once. Each counts as an
// attempt of its own, and goes as the script says.
type Together struct{ *Channel }

var _ channel.MultiSender = Together{}

// SendAll implements channel.MultiSender.
func (c Together) SendAll(ctx context.Context, ms []channel.Message) (outs []channel.Outcome) {
	for _, m := range ms {
		r, err := c.Send(ctx, m)
		if outs = append(outs, channel.Outcome{Receipt: r, Err: err}); outs[len(outs)-1].Last() {
			break
		}
	}
	return outs
}
