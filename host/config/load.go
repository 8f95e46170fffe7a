package config

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// maxConfig is the largest longshore.yaml, in bytes; one with a thousand
// groups has a fifth of that.
const maxConfig = 1 << 20

// Load reads and checks the configuration file at path, with the process's
// environment. See Parse for registered and the errors.
func Load(path string, platforms []channel.Platform, registered ...groups.Group) (*Config, error) {
	b, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, b, os.Getenv, platforms, registered...)
}

// With is c with these registered groups, see Parse. It parses the text from which c was read, whatever the file has
// now. c itself if it has no text, see Forget.
func (c *Config) With(registered []groups.Group) (*Config, error) {
	if c.source == nil {
		return c, nil
	}
	next, err := Parse(c.File, c.source.text, os.Getenv, c.Platforms, registered...)
	if err == nil {
		next.Sum = c.Sum // of the bytes in the file
	}
	return next, err
}

// Read returns the text of the configuration file at path, at most one byte more
// than is allowed. A pipe or a device is an error: the host might wait for ever.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fmt.Errorf("read configuration: %s is no file", path))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return b, nil
}

// Parse checks b, the content of the configuration file called name, against
// which relative paths are taken; env looks up ${NAME}, and HOME for "~/";
// platforms are the channels that it may name, the first being on where it
// names none. It reads the file system (links are resolved, *_file are read) but changes
// nothing.
//
// Everything is checked before it returns: the error joins a *Problem for each
// thing that is wrong, in the order of the file. A ${NAME} that env does not
// have is none of them, nor is a missing file, and stands in Config.Down.
//
// registered are the groups that the main group has registered. They follow the file's, but for
// those that the file does not let be served: see Config.LeftOut.
func Parse(name string, b []byte, env func(string) string, platforms []channel.Platform, registered ...groups.Group) (*Config, error) {
	cfg, err := parse(name, b, env, platforms, registered)
	if err != nil {
		return nil, err
	}
	return cfg, nil
}

// LayoutOf returns where the state of a configuration lies. The configuration may be
// invalid: a command still finds the host that runs. A key that cannot be read has
// its default. found is false if the file or its state directory cannot be read.
func LayoutOf(path string, platforms []channel.Platform) (l groups.Layout, found bool) {
	b, err := Read(path)
	if err != nil {
		return l, false
	}
	cfg, _ := parse(path, b, os.Getenv, platforms, nil)
	if cfg == nil || !filepath.IsAbs(cfg.State.Directory) {
		return l, false
	}
	return cfg.Layout(), true
}

// parse is Parse, and returns with an error as much of the configuration as it
// could read; nil if that is nothing.
func parse(name string, b []byte, env func(string) string, platforms []channel.Platform, registered []groups.Group) (*Config, error) {
	file, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("find configuration: %w", err)
	}
	if len(b) > maxConfig {
		return nil, &Problem{File: name, Line: 1, Message: "the file is larger than 1 MiB", Hint: "longshore.yaml holds configuration only"}
	}
	src := newSource(name, b, platforms)
	cfg := defaults()
	decoded := src.decode(&cfg)
	cfg.File, cfg.Platforms, cfg.source, cfg.Sum = file, platforms, src, sha256.Sum256(b)
	base, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		base = filepath.Dir(file) // the caller's text need not lie in a file
	}
	c := &checker{source: src, cfg: &cfg, env: env, base: base}
	if !decoded { // the usual directory beside the file
		cfg.State.Directory = filepath.Join(base, cfg.State.Directory)
		return &cfg, src.err()
	}
	own := len(cfg.Groups)
	cfg.Groups = append(cfg.Groups, cfg.joining(registered)...)
	cfg.conform(own)
	c.check()
	if src.err() != nil {
		src.problems = append(src.problems, cfg.Denied()...)
	}
	if err := src.err(); err != nil && len(cfg.Groups) > own {
		return cfg.leaveOut(own, func(rest []groups.Group) (*Config, error) { return parse(name, b, env, platforms, rest) })
	} else if err != nil {
		return &cfg, err
	}
	cfg.SecretFiles, cfg.Secrets = slices.Compact(slices.Sorted(maps.Values(c.secretFiles))), map[string]string{}
	for key := range c.secretFiles {
		cfg.Secrets[key] = c.written[key]
	}
	src.finish(cfg.Warnings)
	src.finish(cfg.Down)
	return &cfg, nil
}
