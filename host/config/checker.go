package config

import (
	"slices"
	"strconv"
	"strings"
)

// checker checks the meaning of a configuration whose form is valid, and fills in
// values that depend on more than one key.
type checker struct {
	*source
	cfg  *Config
	env  func(string) string
	base string // directory of the configuration file, free of links

	secretFiles map[string]string // real path of each file a secret was read from, by its key
	secrets     map[string]bool   // the keys whose secrets were read from the environment or a file
	written     map[string]string // path of each place that is opened, as the file has it but absolute, by its key
}

// warn records a setting that works but is unsafe or uncertain.
func (c *checker) warn(key, message, hint string) {
	c.cfg.Warnings = append(c.cfg.Warnings, c.problem(key, message, hint))
}

// down records what this machine lacks or has wrong.
func (c *checker) down(key, message, hint string) {
	c.keepDown(c.problem(key, message, hint))
	c.warn(key, message, hint)
}

// deny records a mount that is forbidden.
func (c *checker) deny(key, message, hint string) {
	p := c.problem(key, message, hint)
	p.Denied = true
	c.keepDown(p)
}

func (c *checker) keepDown(p *Problem) {
	p.Part = c.partOf(p.Key)
	c.cfg.Down = append(c.cfg.Down, p)
}

// partOf returns the part of a host that a key belongs to.
func (c *checker) partOf(key string) string {
	first, rest, _ := strings.Cut(key, ".")
	name, _, _ := strings.Cut(rest, ".")
	kind, place, _ := strings.Cut(first, "[")
	switch kind {
	case "channels", "assistants":
		return strings.TrimSuffix(kind, "s") + " " + name
	case "groups":
		i, _ := strconv.Atoi(strings.TrimSuffix(place, "]"))
		return "group " + c.cfg.Groups[i].Folder
	}
	return kind
}

// WhyDown returns what keeps a part down; nil: nothing of the file does.
func (c *Config) WhyDown(part string) *Problem {
	if i := slices.IndexFunc(c.Down, func(p *Problem) bool { return p.Part == part }); i >= 0 {
		return c.Down[i]
	}
	return nil
}

// Denied returns those of Down that are forbidden mounts.
func (c *Config) Denied() []*Problem {
	return slices.DeleteFunc(slices.Clone(c.Down), func(p *Problem) bool { return !p.Denied })
}

// unset records a ${NAME} that this process does not have.
func (c *checker) unset(key, name string) {
	c.keepDown(c.problem(key, "the environment has no "+name, "set it where the host is started and restart the host, or read the value from a file"))
	c.warn(key, name+" is not set here; the service's own environment may have it", "if the service does not start either, set it where the host is started, or read the value from a file")
}
