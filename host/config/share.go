package config

import (
	"fmt"

	"github.com/longshore-bridge/longshore/groups"
)

// ShareNone says that a container shares no directory with the host.
const ShareNone = "none"

// Alone reports whether a group's assistant runs in a container that shares no directory
// with the host.
func (c *Config) Alone(g groups.Group) bool {
	a := c.Assistants[g.Assistant]
	return g.Assistant != "" && a.Runtime == "docker" && a.Share == ShareNone
}

// share refuses what a container that shares no directory cannot have.
func (c *checker) share(key string, a Assistant) {
	at := key + ".share"
	if a.Runtime != "docker" {
		if c.has(at) {
			c.bad(at, "only a container shares directories or none", "set runtime: docker, or leave share: out")
		}
		return
	}
	if a.Share == ShareNone && c.cfg.Style == "v1" {
		c.bad(at, "v1's image knows no other way than the shared directories", "leave share: or layout: v1 out")
	}
}

// shares refuses directories of groups whose containers share none.
func (c *checker) shares() {
	for i, g := range c.cfg.Groups {
		if !c.cfg.Alone(g) {
			continue
		}
		key := fmt.Sprintf("groups[%d]", i)
		if len(g.Mounts) > 0 {
			c.bad(key+".mounts", "the container of this group's assistant shares no directory", "leave mounts: out, or use an assistant without share: none")
		}
		if g.Parallel > 1 {
			c.bad(key+".parallel", "assistants with share: none have one volume, and cannot run at the same time", "leave parallel: out, or use an assistant without share: none")
		}
	}
}
