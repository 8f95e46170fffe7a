package doctor

import (
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
)

// Examine runs every check on the installation that a valid configuration
// describes. file is where the configuration lies, stores are those that serve
// opens, channels the checks of what is configured, and getenv names the container engine.
func Examine(ctx context.Context, c *config.Config, file string, stores []store.Spec, channels []Check, getenv func(string) string) []Finding {
	d := doctorFor(c, stores)
	d.Channels = channels
	socket, engine := examineEngine(ctx, c, getenv)
	d.Container = socket
	return slices.Concat(CheckConfigFile(file), FindingsOf(Warning, c.Warnings), d.Examine(ctx), examineInbound(c), engine)
}

// doctorFor is the doctor for a configuration that could be read.
func doctorFor(c *config.Config, stores []store.Spec) Doctor {
	d := Doctor{Layout: c.Layout(), Groups: c.Groups, Stores: stores, FreeDisk: int64(c.Limits.FreeDisk), Metrics: c.Metrics.Listen, Commands: map[string]string{}}
	for name, a := range c.Assistants {
		switch {
		case a.Runtime == "docker": // its programs are in its image
		case a.Agent == "command" && len(a.Command) > 0:
			d.Commands[name] = a.Command[0]
		case a.Agent != "sample" && a.Agent != "command":
			d.Commands[name] = a.Agent
		}
	}
	return d
}

// examineInbound looks at the members' messages that assistants have not had
// yet, as the start does.
func examineInbound(c *config.Config) (findings []Finding) {
	for _, g := range c.Groups {
		if g.Assistant == "" {
			continue
		}
		if err := assistant.Examine(c.Layout().Channel("inbound"), g.Folder); err != nil {
			findings = append(findings, Finding{
				Check: "inbound", Severity: Fault, Message: fmt.Sprintf("the messages kept for group %s cannot be read: %v", g.Folder, err),
				Remedy: "see that the host's user can read and write it; or restore it from a backup",
			})
		}
	}
	return findings
}

// FindingsOf are the problems of a configuration as findings.
func FindingsOf(severity Severity, problems []*config.Problem) (findings []Finding) {
	for _, p := range problems {
		findings = append(findings, Finding{
			Check: "config", Severity: severity, Remedy: p.Hint, Message: p.Place() + p.Message,
		})
	}
	return findings
}
