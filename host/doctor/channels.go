package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/operator"
)

// configured checks the channels' settings and everything that they need.
func (d Doctor) configured(ctx context.Context, h hosting) (all []Finding) {
	for _, check := range d.Channels {
		for _, f := range check(ctx, h.running) {
			if !slices.Contains(all, f) { // two accounts may report the same problem of the machine
				all = append(all, f)
			}
		}
	}
	return all
}

// channels asks a running host whether its channels are connected, and if not,
// why and what to do.
func (d Doctor) channels(ctx context.Context, h hosting) []Finding {
	if !h.running {
		return nil
	}
	status, err := operator.NewClient(operator.ControlDir(d.Layout)).Status(ctx)
	if err != nil {
		return found("channels", Warning, "the host does not report the state of its channels: "+err.Error(), "see: longshore status")
	}
	var all []Finding
	for _, c := range status.Channels {
		if c.Connected {
			all = append(all, fine("channels", c.Name+" is connected")...)
			continue
		}
		detail := cmp.Or(c.Detail, "its deliveries wait")
		remedy := strings.Replace(operator.ChannelRemedy(c.Detail), "longshore doctor, ", "", 1) // that is this
		all = append(all, found("channels", Warning, fmt.Sprintf("%s is not connected: %s", c.Name, detail), remedy)...)
	}
	return all
}
