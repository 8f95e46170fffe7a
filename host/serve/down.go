package serve

import (
	"context"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// Findings implements operator.Machine.
func (h *Host) Findings(ctx context.Context) []finding.Finding { return h.down.Findings(ctx) }

// tellDown notes which parts a configuration keeps down. A channel says it itself.
func (h *Host) tellDown(c *config.Config) {
	var all []finding.Finding
	for _, p := range slices.Concat(c.Denied, c.Down) {
		if !strings.HasPrefix(p.Part, "channel ") {
			all = append(all, finding.Finding{Name: string(cause.Setup), Part: p.Part, Cause: p.Key + ": " + p.Message, Remedy: p.Hint})
		}
	}
	h.down.Replace(string(cause.Setup), all)
}
