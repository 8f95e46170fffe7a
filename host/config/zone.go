package config

import (
	"cmp"
	"fmt"
	"time"
	_ "time/tzdata" // a machine without zones of its own has them too

	"github.com/longshore-bridge/longshore/groups"
)

// Zone is the time zone of a group's prompts and schedules; that of all if g is zero.
func (c *Config) Zone(g groups.Group) *time.Location {
	zone, err := time.LoadLocation(cmp.Or(g.Timezone, c.Timezone))
	if err != nil {
		return time.UTC // of a Config that nobody has checked
	}
	return zone
}

func (c *checker) timezone(key, name string) {
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		c.bad(key, fmt.Sprintf("%q is no time zone", name), "write its name in the IANA database, such as Europe/Berlin")
	}
}
