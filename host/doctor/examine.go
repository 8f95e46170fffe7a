package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/store"
)

// Examine runs every check on the installation of a valid configuration. file
// is the path of the configuration, stores are those that serve opens, served the
// folders of the groups that a host has served, channels the checks of the configured channels, and getenv the environment that names
// the container engine. If a host runs, it is asked about its own environment instead.
func Examine(ctx context.Context, c *config.Config, file string, stores []store.Spec, served []string, channels []Check, getenv func(string) string) []Finding {
	d := doctorFor(c, stores)
	d.Channels, d.Served = channels, served
	socket, surroundings := examineEngine(ctx, c, getenv)
	d.Container = socket
	if hosted, ok := ofHost(ctx, c); ok { // its PATH and its user count, not those of this shell
		surroundings, d.Commands = hosted, nil
	} else {
		surroundings = append(surroundings, examineMachines(ctx, c)...)
	}
	return slices.Concat(CheckConfigFile(file), FindingsOf(Warning, c.Warnings), d.Examine(ctx), examineInbound(c), examineKeys(c), examineElsewhere(c), surroundings)
}

// programEnv names an agent CLI that is not in the PATH; agentrunner starts it.
const programEnv = "LONGSHORE_AGENT_PROGRAM"

// doctorFor returns the Doctor for a valid configuration.
func doctorFor(c *config.Config, stores []store.Spec) Doctor {
	d := Doctor{Layout: c.Layout(), Groups: c.Groups, Stores: stores, FreeDisk: int64(c.Limits.FreeDisk), Metrics: c.Metrics.Listen, Commands: map[string]string{}, CLIs: map[string]bool{}}
	for name, a := range c.Assistants {
		switch {
		case a.Runtime == "docker", a.Runtime == config.Elsewhere, a.Runtime == config.OverSSH: // its programs are not on this machine's PATH
		case a.Agent == "command" && len(a.Command) > 0:
			d.Commands[name] = a.Command[0]
		case a.Agent != "sample" && a.Agent != "command":
			d.CLIs[name] = true
			d.Commands[name] = cmp.Or(a.Env[programEnv].Reveal(), a.Agent)
		}
	}
	return d
}

// examineInbound checks the stored messages that assistants have not read yet,
// as the host does at its start.
func examineInbound(c *config.Config) (findings []Finding) {
	for _, g := range c.Groups {
		if g.Assistant == "" {
			continue
		}
		if err := assistant.Examine(c.Layout().Channel("inbound"), g.Folder); err != nil {
			findings = append(findings, Finding{
				Check: "inbound", Severity: Fault, Message: fmt.Sprintf("the messages kept for group %s cannot be read: %v", g.Folder, err),
				Remedy: "check that the host's user can read and write that file; or restore it from a backup",
			})
		}
	}
	return findings
}

// FindingsOf converts the problems of a configuration to findings.
func FindingsOf(severity Severity, problems []*config.Problem) (findings []Finding) {
	for _, p := range problems {
		findings = append(findings, Finding{
			Check: "config", Severity: severity, Remedy: p.Hint, Message: p.Position() + p.Message,
		})
	}
	return findings
}
