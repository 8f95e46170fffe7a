// Package config reads longshore.yaml. The file is checked whole before anything
// is opened: each thing that is wrong in it is a [Problem] with its line and a
// remedy. What works but is unsafe is a warning.
//
// The package reads files and looks at directories; it makes and changes none.
package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/setting"
)

// Config is longshore.yaml, complete: defaults filled in, paths absolute and
// free of symlinks where they exist, secrets read. Every field is one key.
type Config struct {
	File string `yaml:"-"` // the file it came from, absolute
	// Warnings are what works and should not stay so, in the order of the file.
	Warnings []*Problem `yaml:"-"`
	// Unset are the ${NAME} whose values this process does not have, in the
	// order of the file; each is a warning too. A command that uses no secret
	// does without. What uses them refuses to start: an empty token would open
	// the page.
	Unset []*Problem `yaml:"-"`

	// Platforms are all that the configuration could name.
	Platforms []channel.Platform `yaml:"-" json:"-"`

	Name    string `yaml:"name"`    // the assistants' name, as members see it
	State   string `yaml:"state"`   // the state directory
	Style   string `yaml:"layout"`  // "longshore", or "v1" for a NanoClaw v1 directory
	Project string `yaml:"project"` // what main sees at /workspace/project
	// MediaTools is how programs such as ffmpeg read files: confined,
	// unconfined or off.
	MediaTools string               `yaml:"media_tools"`
	Log        Log                  `yaml:"log"`
	Metrics    Metrics              `yaml:"metrics"`
	Channels   Channels             `yaml:"channels"`
	Assistants map[string]Assistant `yaml:"assistants"`
	Groups     []groups.Group       `yaml:"groups"`
	Mounts     MountPolicy          `yaml:"mounts"`
	Limits     Limits               `yaml:"limits"`
}

// Log is how the host logs.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn, error
	Format string `yaml:"format"` // auto (text on a terminal, else JSON), text, json
}

// Metrics is where the host answers /healthz and /metrics beside its control
// socket.
type Metrics struct {
	Listen string   `yaml:"listen"` // host:port on loopback; empty: nowhere
	Hosts  []string `yaml:"hosts"`  // names that it answers to beside those of loopback
}

// The kinds of value that the file is written in.
type (
	Size     = setting.Size
	Duration = setting.Duration
	Secret   = setting.Secret
)

// Assistant is a way to run an agent.
type Assistant struct {
	Runtime string   `yaml:"runtime"` // process, docker
	Agent   string   `yaml:"agent"`   // sample, command, claude, codex, gemini, opencode
	Command []string `yaml:"command"` // of agent: command; argument by argument, no shell
	Image   string   `yaml:"image"`   // of runtime: docker
	Network string   `yaml:"network"` // of runtime: docker; as the engine calls it
	// Env is the agent's further environment. Values may be secrets, so all
	// are kept as such.
	Env         map[string]Secret `yaml:"env"`
	EnvFromFile map[string]string `yaml:"env_from_file"` // variables whose values are read from files, into Env
	IdleTimeout Duration          `yaml:"idle_timeout"`  // without a message; then the assistant ends
	TurnTimeout Duration          `yaml:"turn_timeout"`  // without an answer; then it is ended
	Memory      Size              `yaml:"memory"`        // of runtime: docker, as are the next two
	CPUs        float64           `yaml:"cpus"`
	Pids        int               `yaml:"pids"`
}

// MountPolicy is what the operator lets groups mount.
type MountPolicy struct {
	Allow []Allowed `yaml:"allow"` // directories at or below which an extra mount may lie
	Block []string  `yaml:"block"` // further names, with * and ?, that no part of a mount's path may have
}

// Allowed is a directory that groups may mount, or parts of it.
type Allowed struct {
	Path  string `yaml:"path"`
	Write bool   `yaml:"write"` // groups may also write
}

// Limits bound what one group can take from the host and from the others.
type Limits struct {
	Files       groups.KindLimits `yaml:"files"`        // bytes per media kind for every group, beside the channel's own
	Pending     int               `yaml:"pending"`      // accepted deliveries of a group that are not settled
	Outbox      Size              `yaml:"outbox"`       // their bytes
	Wait        Duration          `yaml:"wait"`         // how long a tool waits for its result
	Rate        groups.Rate       `yaml:"rate"`         // sends of one group
	Sends       int               `yaml:"sends"`        // in flight at once, over all groups
	Assistants  int               `yaml:"assistants"`   // running at once
	Retry       Retry             `yaml:"retry"`        // of sends that failed for the moment
	FreeDisk    Size              `yaml:"free_disk"`    // below which nothing more is accepted
	Inbox       Size              `yaml:"inbox"`        // of a group's workspace, above which no further file of a member is kept; 0: no bound
	KeepResults Duration          `yaml:"keep_results"` // settled deliveries, their results, and the bytes of those that failed
	KeepErrors  Duration          `yaml:"keep_errors"`  // in the errors folder; 0: for ever
}

// Retry is how a send that failed for the moment is repeated.
type Retry struct {
	MaxAge Duration `yaml:"max_age"` // after acceptance; then it has failed
	First  Duration `yaml:"first"`   // pause after the first attempt; it grows from there
	Max    Duration `yaml:"max"`     // the longest pause
}

// defaults is a configuration in which every key is absent.
func defaults() Config {
	return Config{
		Name:       "Andy",
		State:      "state",
		Style:      "longshore",
		MediaTools: "confined",
		Log:        Log{Level: "info", Format: "auto"},
		Limits: Limits{
			Pending:     64,
			Outbox:      256 << 20,
			Wait:        45e9,
			Rate:        groups.Rate{PerMinute: 20, Burst: 10},
			Sends:       4,
			Assistants:  5,
			Retry:       Retry{MaxAge: 24 * 3600e9, First: 1e9, Max: 300e9},
			FreeDisk:    1 << 30,
			Inbox:       10 << 30,
			KeepResults: 7 * 24 * 3600e9,
			KeepErrors:  30 * 24 * 3600e9,
		},
	}
}

// setDefaults fills in what an absent key means.
func (a *Assistant) setDefaults() {
	a.Runtime = "process"
	a.Agent = "sample"
	a.Image = "longshore-agent:latest"
	a.Network = "bridge"
	a.IdleTimeout = 1800e9
	a.TurnTimeout = 1800e9
	a.Memory = 2 << 30
	a.CPUs = 2
	a.Pids = 512
}

// Layout is where the configuration puts everything.
func (c *Config) Layout() groups.Layout {
	return groups.Layout{State: c.State, Project: c.Project, V1: c.Style == "v1"}
}

// maxConfig is the largest longshore.yaml, in bytes; one with a thousand
// groups has a fifth of that.
const maxConfig = 1 << 20

// Load reads and checks the configuration file at path, with the process's
// environment. See Parse for the errors.
func Load(path string, platforms []channel.Platform) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, b, os.Getenv, platforms)
}

// Parse checks b, the content of the configuration file called name, against
// which relative paths are taken; env looks up ${NAME}, and HOME for "~/";
// platforms are the channels that it may name, the first being on where it
// names none. It reads the file system (links are resolved, *_file are read) but changes
// nothing.
//
// Everything is checked before it returns: the error joins a *Problem for each
// thing that is wrong, in the order of the file. A ${NAME} that env does not
// have is none of them, and stands in Config.Unset.
func Parse(name string, b []byte, env func(string) string, platforms []channel.Platform) (*Config, error) {
	file, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("find configuration: %w", err)
	}
	if len(b) > maxConfig {
		return nil, &Problem{File: name, Line: 1, Message: "the file is larger than 1 MiB", Hint: "longshore.yaml holds configuration only"}
	}
	src := newSource(name, b, platforms)
	cfg := defaults()
	if !src.decode(&cfg) {
		return nil, src.err()
	}
	cfg.File, cfg.Platforms = file, platforms
	base, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		base = filepath.Dir(file) // the caller's text need not lie in a file
	}
	c := &checker{source: src, cfg: &cfg, env: env, base: base}
	c.check()
	if err := src.err(); err != nil {
		return nil, err
	}
	inOrder(cfg.Warnings)
	inOrder(cfg.Unset)
	return &cfg, nil
}

// InContainers are the groups whose assistants run in containers.
func (c *Config) InContainers() (boxed []groups.Group) {
	for _, g := range c.Groups {
		if g.Assistant != "" && c.Assistants[g.Assistant].Runtime == "docker" {
			boxed = append(boxed, g)
		}
	}
	return boxed
}
