package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/near"
)

// Engine is a container engine. The zero Engine is that of this machine, as the docker command finds
// it.
type Engine struct {
	SSH    SSH    `yaml:"ssh" help:"The machine of the engine, and an account there that may use it. Every container on it has share: none. Without this key, the engine is on this machine."`
	Socket string `yaml:"socket" help:"The engine's unix socket on its machine. Without it /var/run/docker.sock with ssh, and otherwise the engine that the docker command would use."`
}

// Elsewhere reports whether the engine runs on another machine.
func (e Engine) Elsewhere() bool { return e.SSH.Host != "" }

// The values of Assistant.WhenAway.
const (
	AwayWait = "wait"
	AwayMove = "move"
)

// EngineNames returns the names of the engines, sorted. If the configuration names none, the only
// engine is this machine's, and its name is empty.
func (c *Config) EngineNames() []string {
	if len(c.Engines) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(c.Engines))
}

// EnginesOf returns the names of the engines on which a group's container may run; none if its
// assistant runs in no container.
func (c *Config) EnginesOf(g groups.Group) []string {
	a := c.Assistants[g.Assistant]
	switch {
	case g.Assistant == "" || a.Runtime != "docker":
		return nil
	case len(g.Engine) > 0:
		return g.Engine
	}
	return c.enginesOf(a)
}

// enginesOf returns those on which an assistant with runtime: docker may run.
func (c *Config) enginesOf(a Assistant) []string {
	if len(a.Engine) > 0 {
		return a.Engine
	}
	return c.EngineNames()
}

// On is the configuration with those groups alone whose containers may run on an engine.
func (c *Config) On(engine string) *Config {
	one := *c
	one.Groups = slices.DeleteFunc(slices.Clone(c.Groups), func(g groups.Group) bool { return !slices.Contains(c.EnginesOf(g), engine) })
	return &one
}

// engines checks each engine, and which assistants and groups name it.
func (c *checker) engines() {
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Engines)) {
		e, key := c.cfg.Engines[name], "engines."+name
		c.engine(key, &e)
		c.cfg.Engines[name] = e
		at := e.SSH.machineOf() + " " + cmp.Or(e.Socket, "that of the docker command")
		if first, twice := taken[at]; twice {
			c.bad(key, fmt.Sprintf("it is the same engine as %q", first), "give each engine one name")
		}
		taken[at] = name
	}
	c.tcp()
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Assistants)) {
		a, key := c.cfg.Assistants[name], "assistants."+name
		c.named(key+".engine", a.Engine, a)
		if c.has(key+".when_away") && a.Runtime != "docker" {
			c.bad(key+".when_away", "only a container has an engine", "set runtime: docker, or leave when_away: out")
		} else if a.WhenAway == AwayMove && len(c.cfg.enginesOf(a)) < 2 {
			c.bad(key+".when_away", "its groups have nowhere to move to", "name several engines in engine:, or leave when_away: out")
		}
		c.reached(key+".share", a, c.cfg.enginesOf(a))
		c.apart(key+".share", key+".engine", a, c.cfg.enginesOf(a))
	}
	for i, g := range c.cfg.Groups {
		key := fmt.Sprintf("groups[%d].engine", i)
		if a, known := c.cfg.Assistants[g.Assistant]; known || len(g.Engine) > 0 {
			c.named(key, g.Engine, a)
			c.reached(key, a, g.Engine)
			c.apart("", key, a, g.Engine)
		}
	}
}

// engine checks one engine.
func (c *checker) engine(key string, e *Engine) {
	switch {
	case strings.Contains(e.SSH.Host, "://"):
		c.bad(key+".ssh.host", fmt.Sprintf("%.80q is an address, and whoever reaches an engine's tcp:// address is root there", e.SSH.Host),
			"write the machine's name alone; the engine is reached over ssh, at its unix socket")
		return
	case c.has(key + ".ssh"):
		c.machine(key+".ssh", &e.SSH)
		e.Socket = cmp.Or(e.Socket, "/var/run/docker.sock")
	}
	if e.Socket != "" && (!path.IsAbs(e.Socket) || path.Clean(e.Socket) != e.Socket) {
		c.bad(key+".socket", "it is no absolute path", "write the engine's unix socket, such as /run/user/1000/docker.sock")
	}
}

// named checks the names of engines that an assistant, or a group of it, may run on.
func (c *checker) named(key string, names groups.Engines, a Assistant) {
	if len(names) > 0 && a.Runtime != "docker" {
		c.bad(key, "only a container has an engine", "use an assistant with runtime: docker, or leave engine: out")
		return
	}
	for i, name := range names {
		if _, known := c.cfg.Engines[name]; !known {
			c.bad(key, fmt.Sprintf("there is no engine %.80q", name), near.Hint(name, slices.Sorted(maps.Keys(c.cfg.Engines)), "add it below engines:, or leave engine: out"))
		} else if slices.Contains(names[:i], name) {
			c.bad(key, fmt.Sprintf("%q is named twice", name), "leave one of them out")
		}
	}
}

// reached refuses containers that share directories with a machine that has none of this one's.
func (c *checker) reached(key string, a Assistant, names []string) {
	if a.Runtime != "docker" || a.Share == ShareNone {
		return
	}
	for _, name := range names {
		if c.cfg.Engines[name].Elsewhere() {
			c.bad(key, fmt.Sprintf("%s: the engine is on another machine, which has no directory of this one", name), "set share: none, or name an engine of this machine in engine:")
			return
		}
	}
}

// apart refuses in a cluster containers that its next owner could not serve: those that share
// directories, if shares is their key, and those on an engine that each host finds on its own machine.
func (c *checker) apart(shares, key string, a Assistant, names []string) {
	if c.cfg.Cluster.Name != "" && a.Runtime == "process" && shares != "" {
		c.warn(strings.TrimSuffix(shares, ".share")+".runtime", "processes do not move: after a take-over the assistant begins anew in an empty workspace on the other host", "use runtime: docker with share: none and an engine that all hosts reach")
	}
	if c.cfg.Cluster.Name == "" || a.Runtime != "docker" {
		return
	}
	if shares != "" && a.Share != ShareNone {
		c.bad(shares, "the hosts of a cluster are on several machines, and none hears what changes in a directory of another one", "set share: none")
	}
	for _, name := range names {
		if !c.cfg.Engines[name].Elsewhere() {
			c.bad(key, strings.TrimSpace("the engine "+name)+" is another one on each host of the cluster", "name engines that have ssh:, by which every host reaches the same one")
			return
		}
	}
}

// tcp refuses an engine at a tcp:// address for containers that need a socket of this machine.
func (c *checker) tcp() {
	host := c.env("DOCKER_HOST")
	if !strings.HasPrefix(host, "tcp://") {
		return
	}
	for _, g := range c.cfg.Groups {
		found := slices.ContainsFunc(c.cfg.EnginesOf(g), func(name string) bool { return c.cfg.Engines[name] == Engine{} })
		if found && c.cfg.Alone(g) {
			c.bad("assistants."+g.Assistant+".share", fmt.Sprintf("the engine listens at %.80s, where no socket of this machine can be mounted", host),
				"name an engine in engines: by its unix socket here or by ssh: on another machine, or use share: directories")
			return
		}
	}
}

// machineOf is the machine and the port of an account, for comparison.
func (m SSH) machineOf() string {
	if _, _, err := net.SplitHostPort(m.Host); m.Host == "" || err == nil {
		return m.Host
	}
	return net.JoinHostPort(m.Host, "22")
}
