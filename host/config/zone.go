package config

import (
	"cmp"
	"fmt"
	"time"
	_ "time/tzdata" // a machine without zones of its own has them too
)

// Zone is the time zone of a group's prompts and schedules.
func (c *Config) Zone(folder string) *time.Location {
	name := c.Timezone
	for _, g := range c.Groups {
		if g.Folder == folder {
			name = cmp.Or(g.Timezone, name)
		}
	}
	zone, err := time.LoadLocation(name)
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
