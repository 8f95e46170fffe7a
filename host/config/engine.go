package config

import (
	"fmt"
	"path"
	"strings"
)

// Engine is the container engine, if it runs on another machine.
type Engine struct {
	SSH    SSH    `yaml:"ssh" help:"The machine of the engine, and an account there that may use it. Every container has share: none then."`
	Socket string `yaml:"socket" help:"The engine's socket there."`
}

// engine checks the engine's machine, and that no container shares directories with a
// machine that has none of them.
func (c *checker) engine() {
	e := &c.cfg.Engine
	if !c.has("engine.ssh") {
		if c.has("engine") {
			c.bad("engine", "no machine is named", "add ssh: with host, user, key and known_hosts, or leave engine: out for the engine of this machine")
		}
		c.tcp()
		return
	}
	if strings.Contains(e.SSH.Host, "://") {
		c.bad("engine.ssh.host", fmt.Sprintf("%.80q is an address, and whoever reaches an engine's tcp:// address is root there", e.SSH.Host),
			"write the machine's name alone; the engine is reached over ssh, at its unix socket")
		return
	}
	c.machine("engine.ssh", &e.SSH)
	if !path.IsAbs(e.Socket) || path.Clean(e.Socket) != e.Socket {
		c.bad("engine.socket", "it is no absolute path", "write the engine's socket on that machine, such as /run/user/1000/docker.sock")
	}
	for name, a := range c.cfg.Assistants {
		if a.Runtime == "docker" && a.Share != ShareNone {
			c.bad("assistants."+name+".share", "the engine is on another machine, which has no directory of this one", "set share: none")
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
		if c.cfg.Alone(g) {
			c.bad("assistants."+g.Assistant+".share", fmt.Sprintf("the engine listens at %.80s, where no socket of this machine can be mounted", host),
				"use the engine's unix socket here, engine: {ssh: …} for another machine's, or share: directories")
			return
		}
	}
}
