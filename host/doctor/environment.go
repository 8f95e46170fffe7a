package doctor

import (
	"context"
	"slices"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
)

// Environment checks what the assistants of c's groups need of the process that calls
// it: their programs by its PATH, the container engine by its user, the images and the
// directories of their containers, and the machines of those that run elsewhere. The host calls it for itself.
func Environment(ctx context.Context, c *config.Config, getenv func(string) string) []Finding {
	used := *c
	used.Assistants = map[string]config.Assistant{}
	for _, g := range c.Groups {
		if a, ok := c.Assistants[g.Assistant]; ok {
			used.Assistants[g.Assistant] = a
		}
	}
	d := doctorFor(&used, nil)
	socket, findings := examineEngine(ctx, &used, getenv)
	d.Container = socket
	return slices.Concat(d.assistants(ctx, hosting{}), findings, examineMachines(ctx, &used))
}

// ofHost asks the running host for its Environment; ok is false if it does not answer.
func ofHost(ctx context.Context, c *config.Config) (findings []Finding, ok bool) {
	findings, err := operator.NewClient(operator.ControlDir(c.Layout())).Environment(ctx, "")
	return findings, err == nil
}
