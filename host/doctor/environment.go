package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/engines"
	"github.com/longshore-bridge/longshore/host/runtime/ssh"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// programEnv names an agent CLI that is not in the PATH; agentrunner starts it.
const programEnv = "LONGSHORE_AGENT_PROGRAM"

// Environment checks what the assistants of c's groups need of the process that calls it: their
// programs by its PATH, the container engines by its user, and the images. deep: it also has each
// engine start a container, and logs in to the machines of assistants over ssh.
func Environment(ctx context.Context, c *config.Config, getenv func(string) string, deep bool) []finding.Finding {
	used := *c
	used.Assistants = map[string]config.Assistant{}
	for _, g := range c.Groups {
		if a, ok := c.Assistants[g.Assistant]; ok {
			used.Assistants[g.Assistant] = a
		}
	}
	all := append(programs(&used), examineEngines(ctx, &used, getenv, deep)...)
	if deep {
		all = append(all, examineMachines(ctx, &used)...)
	}
	return all
}

func (d Doctor) programs(ctx context.Context) []finding.Finding {
	return Environment(ctx, d.Config, d.Getenv, false)
}

func (d Doctor) environment(ctx context.Context) []finding.Finding {
	if d.Config == nil {
		return nil
	}
	return Environment(ctx, d.Config, d.Getenv, true)
}

// programs checks that the programs of the assistants exist.
func programs(c *config.Config) (all []finding.Finding) {
	for _, name := range slices.Sorted(maps.Keys(c.Assistants)) {
		a, program, key := c.Assistants[name], "", ".command"
		switch {
		case a.Runtime == "docker", a.Runtime == config.Elsewhere, a.Runtime == config.OverSSH: // its programs are not on this machine's PATH
		case a.Agent == "command" && len(a.Command) > 0:
			program = a.Command[0]
		case a.Agent != "sample" && a.Agent != "command":
			program, key = cmp.Or(a.Env[programEnv].Reveal(), a.Agent), ".env."+programEnv
		}
		if program == "" {
			continue
		}
		switch _, err := exec.LookPath(program); {
		case errors.Is(err, fs.ErrPermission):
			all = append(all, ofAssistant(name, cause.NotInstalled, fmt.Sprintf("the host may not run the command %q of assistant %q", program, name), "chmod a+rx "+program+", as its owner or as root"))
		case err != nil:
			all = append(all, ofAssistant(name, cause.NotInstalled, fmt.Sprintf("the command %q of assistant %q was not found", program, name), programRemedy(program, "assistants."+name+key)))
		}
	}
	return all
}

// ofAssistant is the finding that an assistant cannot run.
func ofAssistant(name string, c cause.Cause, words, remedy string) finding.Finding {
	return finding.Finding{Name: string(c), Part: "assistant " + name, Severity: finding.Fault, Cause: words, Remedy: remedy}
}

// programRemedy says how the host finds the program that a key of longshore.yaml names.
func programRemedy(program, key string) string {
	if strings.Contains(program, "/") {
		return "install it there, or correct " + key + " in longshore.yaml"
	}
	return "install it, or put its full path into longshore.yaml as " + key + ": a service has another PATH than a shell"
}

// machineTimeout is how long one machine has to answer.
const machineTimeout = 30 * time.Second

// examineMachines logs in to the machines of the assistants with runtime: ssh.
func examineMachines(ctx context.Context, c *config.Config) (all []finding.Finding) {
	for _, name := range slices.Sorted(maps.Keys(c.Assistants)) {
		a := c.Assistants[name]
		if a.Runtime != config.OverSSH {
			continue
		}
		f := finding.Well("assistant "+name, fmt.Sprintf("assistant %s can run on %s as %s", name, a.SSH.Host, a.SSH.User))
		if err := checkMachine(ctx, a); err != nil {
			f = ofAssistant(name, cause.Unreachable, fmt.Sprintf("assistant %s cannot run on %s: %v", name, a.SSH.Host, err), "make "+a.SSH.Host+" reachable by ssh for the host's user; see docs/remote.md")
			if known, ok := errors.AsType[*ssh.Fault](err); ok {
				f.Remedy = known.Remedy
			}
		}
		all = append(all, f)
	}
	return all
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

// noStart is the finding that an engine starts nothing, for each assistant whose groups are on it.
func noStart(c *config.Config, words, remedy string) (all []finding.Finding) {
	for name := range c.Assistants {
		if slices.ContainsFunc(c.InContainers(), func(g groups.Group) bool { return g.Assistant == name }) {
			all = append(all, ofAssistant(name, cause.Start, words, remedy))
		}
	}
	return all
}

// examineEngines asks all engines on which a group's container may run, at the same time.
func examineEngines(ctx context.Context, c *config.Config, getenv func(string) string, deep bool) []finding.Finding {
	names := c.EngineNames()
	found := make([][]finding.Finding, len(names))
	var each sync.WaitGroup
	for i, name := range names {
		each.Go(func() { found[i] = examineEngine(ctx, c.On(name), name, getenv, deep) })
	}
	each.Wait()
	return slices.Concat(found...)
}

// examineEngine checks what the containers of a configuration need on an engine: that it answers, the
// images, and directories that they can use.
func examineEngine(ctx context.Context, c *config.Config, name string, getenv func(string) string, deep bool) (all []finding.Finding) {
	boxed := c.InContainers()
	if len(boxed) == 0 {
		return nil
	}
	engine, err := engines.Connect(ctx, c, name, getenv)
	if err != nil {
		return []finding.Finding{engines.Away(name, err)}
	}
	defer engine.Close()
	facts, part := engine.Facts(), engines.Part(name)
	all = well(part, "it answers at "+facts.Host+": "+facts.Name)
	if len(facts.Lacks) > 0 {
		all = append(all, found(finding.Limits, part, finding.Warning, fmt.Sprintf("it cannot limit %s", strings.Join(facts.Lacks, ", ")),
			"on a rootless engine, have systemd delegate the controllers (of control groups version 2) to the user")...)
	}
	if deep {
		all = append(all, Containers(ctx, engine, c, name)...)
	} else {
		all = append(all, Images(ctx, engine, c, name)...)
	}
	return append(all, examineMounts(engine, c, boxed)...)
}
