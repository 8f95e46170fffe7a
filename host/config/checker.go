package config

// checker checks the meaning of a configuration whose form is valid, and fills in
// values that depend on more than one key.
type checker struct {
	*source
	cfg  *Config
	env  func(string) string
	base string // directory of the configuration file, free of links

	secretFiles map[string]string // real path of each file a secret was read from, by its key
	written     map[string]string // path of each place that is opened, as the file has it but absolute, by its key
}

// warn records a setting that works but is unsafe or uncertain.
func (c *checker) warn(key, message, hint string) {
	c.cfg.Warnings = append(c.cfg.Warnings, c.problem(key, message, hint))
}

// unset records a ${NAME} that this process does not have: an error for commands that use the
// value, a warning for all others.
func (c *checker) unset(key, name string) {
	c.cfg.Unset = append(c.cfg.Unset, c.problem(key, "the environment has no "+name, "set it where the host is started, or read the value from a file"))
	c.warn(key, name+" is not set here; the service's own environment may have it", "if the service does not start either, set it where the host is started, or read the value from a file")
}
