package config

// Audit is how the trail of what left the host is kept.
type Audit struct {
	Off  bool     `yaml:"off" restart:"true" help:"No trail is kept."`
	Keep Duration `yaml:"keep" help:"Files whose newest entry is older are removed. 0: never."`

	LeaveOut []string `yaml:"leave_out" enum:"captions,numbers,names" help:"What entries do without: texts and captions, members' telephone numbers, names of files. []: nothing."`
}
