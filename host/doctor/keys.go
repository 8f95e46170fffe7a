package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
)

// examineKeys says of each assistant that runs in a container or on another machine where
// its model's key is.
func examineKeys(c *config.Config) (findings []Finding) {
	used := map[string]bool{}
	for _, g := range c.Groups {
		used[g.Assistant] = true
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		a, who := c.Assistants[name], "the containers of assistant "+name+" get"
		if a.Runtime == config.OverSSH {
			who = "the machine of assistant " + name + " gets"
		}
		switch {
		case a.Runtime != "docker" && a.Runtime != config.OverSSH:
		case a.Keys == "proxy":
			findings = append(findings, Finding{Check: "keys", Severity: Fine, Message: fmt.Sprintf("the host keeps the model's key of assistant %s", name)})
		case a.HasModelKey():
			findings = append(findings, Finding{
				Check: "keys", Severity: Note, Message: who + " the model's key, and a hostile prompt can have it sent away",
				Remedy: "set keys: proxy, unless the assistant needs what the proxy does not pass on: see docs/assistants.md",
			})
		}
	}
	return findings
}

// examineElsewhere names the assistants that fetch their messages.
func examineElsewhere(c *config.Config) (findings []Finding) {
	groups := map[string][]string{}
	for _, g := range c.Groups {
		if c.Assistants[g.Assistant].Runtime == config.Elsewhere {
			groups[g.Assistant] = append(groups[g.Assistant], g.Folder)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		findings = append(findings, Finding{
			Check: "inbox", Severity: Fine,
			Message: fmt.Sprintf("assistant %s lives elsewhere and fetches the messages of %s at %s", name, strings.Join(groups[name], ", "), c.Remote.Listen),
		})
	}
	return findings
}

// machineTimeout is how long one machine has to answer.
const machineTimeout = 30 * time.Second

// examineMachines logs in to the machines of the assistants with runtime: ssh.
func examineMachines(ctx context.Context, c *config.Config) (findings []Finding) {
	for _, name := range slices.Sorted(maps.Keys(c.Assistants)) {
		a := c.Assistants[name]
		if a.Runtime != config.OverSSH {
			continue
		}
		f := Finding{Check: "machine", Severity: Fine, Message: fmt.Sprintf("assistant %s can run on %s as %s", name, a.SSH.Host, a.SSH.User)}
		if err := checkMachine(ctx, a); err != nil {
			f = Finding{Check: "machine", Severity: Fault, Message: fmt.Sprintf("assistant %s cannot run on %s: %v", name, a.SSH.Host, err), Remedy: "see docs/remote.md"}
			if known, ok := errors.AsType[*ssh.Fault](err); ok {
				f.Remedy = known.Remedy
			}
		}
		findings = append(findings, f)
	}
	return findings
}

func checkMachine(ctx context.Context, a config.Assistant) error {
	ctx, cancel := context.WithTimeout(ctx, machineTimeout)
	defer cancel()
	program, err := ssh.Program()
	if err != nil {
		return err
	}
	return ssh.Runtime{Target: ssh.Target(a.SSH), Program: program}.Check(ctx)
}
