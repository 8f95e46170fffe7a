package config

import (
	"fmt"
	"time"
	_ "time/tzdata" // a machine without zones of its own has them too
)

// Zone is the time zone of prompts and schedules.
func (c *Config) Zone() *time.Location {
	zone, err := time.LoadLocation(c.Timezone)
	if err != nil {
		return time.UTC // of a Config that nobody has checked
	}
	return zone
}

func (c *checker) timezone() {
	if _, err := time.LoadLocation(c.cfg.Timezone); err != nil || c.cfg.Timezone == "Local" {
		c.bad("timezone", fmt.Sprintf("%q is no time zone", c.cfg.Timezone), "write its name in the IANA database, such as Europe/Berlin")
	}
}
