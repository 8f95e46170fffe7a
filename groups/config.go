package groups

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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

	Name       string               `yaml:"name"`    // the assistants' name, as members see it
	State      string               `yaml:"state"`   // the state directory
	Style      string               `yaml:"layout"`  // "longshore", or "v1" for a NanoClaw v1 directory
	Project    string               `yaml:"project"` // what main sees at /workspace/project
	Log        Log                  `yaml:"log"`
	Metrics    Metrics              `yaml:"metrics"`
	Channels   Channels             `yaml:"channels"`
	Assistants map[string]Assistant `yaml:"assistants"`
	Groups     []Group              `yaml:"groups"`
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
	Listen string `yaml:"listen"` // host:port on loopback; empty: nowhere
}

// Channels are the chat platforms to connect to; nil is one that is off.
type Channels struct {
	Web      *Web      `yaml:"web"`
	WhatsApp *WhatsApp `yaml:"whatsapp"`
}

// WhatsApp is a linked device of somebody's account; "longshore pair whatsapp"
// links it.
type WhatsApp struct {
	Device  string     `yaml:"device"`  // as the phone lists it under linked devices
	Files   KindLimits `yaml:"files"`   // bytes per media kind, instead of what its apps take
	Rate    Rate       `yaml:"rate"`    // messages to one chat
	Account Rate       `yaml:"account"` // messages to all chats together
}

// Web is the chat page that the host serves itself.
type Web struct {
	Listen    string `yaml:"listen"`     // host:port; beyond loopback only with a token
	URL       string `yaml:"url"`        // what members' browsers call it, behind a proxy; empty: as it listens
	Token     Secret `yaml:"token"`      // what a browser must present; empty: nothing
	TokenFile string `yaml:"token_file"` // where Token is read from
	Upload    Size   `yaml:"upload"`     // the largest file that a member may send
	// Keep is after how long messages are deleted with their files; 0: never.
	Keep Duration `yaml:"keep"`
	// History is how much a chat's files may have before its oldest messages
	// are deleted; 0: none are, and at the channel's own limit files are refused.
	History Size `yaml:"history"`
}

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
	Files       KindLimits `yaml:"files"`        // bytes per media kind for every group, beside the channel's own
	Pending     int        `yaml:"pending"`      // accepted deliveries of a group that are not settled
	Outbox      Size       `yaml:"outbox"`       // their bytes
	Wait        Duration   `yaml:"wait"`         // how long a tool waits for its result
	Rate        Rate       `yaml:"rate"`         // sends of one group
	Sends       int        `yaml:"sends"`        // in flight at once, over all groups
	Assistants  int        `yaml:"assistants"`   // running at once
	Retry       Retry      `yaml:"retry"`        // of sends that failed for the moment
	FreeDisk    Size       `yaml:"free_disk"`    // below which nothing more is accepted
	KeepResults Duration   `yaml:"keep_results"` // settled deliveries, their results, and the bytes of those that failed
	KeepErrors  Duration   `yaml:"keep_errors"`  // in the errors folder; 0: for ever
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
		Name:  "Andy",
		State: "state",
		Style: "longshore",
		Log:   Log{Level: "info", Format: "auto"},
		Limits: Limits{
			Pending:     64,
			Outbox:      256 << 20,
			Wait:        45e9,
			Rate:        Rate{PerMinute: 20, Burst: 10},
			Sends:       4,
			Assistants:  5,
			Retry:       Retry{MaxAge: 24 * 3600e9, First: 1e9, Max: 300e9},
			FreeDisk:    1 << 30,
			KeepResults: 7 * 24 * 3600e9,
			KeepErrors:  30 * 24 * 3600e9,
		},
	}
}

// setDefaults fills in what an absent key means.
func (w *Web) setDefaults() {
	w.Listen = "127.0.0.1:8420"
	w.Upload = 100 << 20
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
func (c *Config) Layout() Layout {
	return Layout{State: c.State, Project: c.Project, V1: c.Style == "v1"}
}

// maxConfig is the largest longshore.yaml, in bytes; one with a thousand
// groups has a fifth of that.
const maxConfig = 1 << 20

// Load reads and checks the configuration file at path, with the process's
// environment. See Parse for the errors.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, b, os.Getenv)
}

// Parse checks b, the content of the configuration file called name, against
// which relative paths are taken; env looks up ${NAME}, and HOME for "~/". It
// reads the file system (links are resolved, *_file are read) but changes
// nothing.
//
// Everything is checked before it returns: the error joins a *Problem for each
// thing that is wrong, in the order of the file. A ${NAME} that env does not
// have is none of them, and stands in Config.Unset.
func Parse(name string, b []byte, env func(string) string) (*Config, error) {
	file, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("find configuration: %w", err)
	}
	if len(b) > maxConfig {
		return nil, &Problem{File: name, Line: 1, Message: "the file is larger than 1 MiB", Hint: "longshore.yaml holds configuration only"}
	}
	src := newSource(name, b)
	cfg := defaults()
	if !src.decode(&cfg) {
		return nil, src.err()
	}
	cfg.File = file
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

func (w *WhatsApp) setDefaults() {
	w.Device = "Longshore"
	w.Rate = Rate{PerMinute: 12, Burst: 10}
	w.Account = Rate{PerMinute: 30, Burst: 20}
}
