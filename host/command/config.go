package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

func newConfig(e *env) *cobra.Command {
	return terminal.Family("config", "check, show and describe longshore.yaml",
		terminal.Verb("validate", "check longshore.yaml as serve would, without starting anything",
			func(*cobra.Command, []string) error { return e.validateConfig() }),
		terminal.Verb("show", "print the configuration with every default filled in; secrets are not shown",
			func(*cobra.Command, []string) error { return e.showConfig() }),
		terminal.Verb("schema", "print the JSON Schema of longshore.yaml, for editors", func(*cobra.Command, []string) error {
			_, err := e.Stdout.Write(config.Schema(e.platforms))
			return err
		}),
	)
}

func (e *env) validateConfig() error {
	c, problems, err := e.servable()
	if err != nil {
		return err
	}
	if c != nil {
		problems = append(problems, c.Denied()...)
	}
	if len(problems) == 0 {
		known, err := serve.Knows(context.Background(), c, store.Look)
		c = e.withRegistered(c, known)
		e.sayUnknown(err)
	}
	err = e.Answer(map[string]any{"valid": len(problems) == 0, "problems": problems, "warnings": warningsOf(c)}, func() error {
		e.printProblems("", problems)
		e.printProblems("warning: ", warningsOf(c))
		if len(problems) == 0 {
			e.Say("%s is valid: %s, state in %s", e.Config, media.Count(len(c.Groups), "group"), c.State.Directory)
		}
		return nil
	})
	if err == nil && len(problems) > 0 {
		err = tooManyProblems(e.Config, len(problems))
	}
	return err
}

// servable reads the configuration and returns every problem that would stop
// serve from starting with it. The error means that the file could not be read.
func (e *env) servable(registered ...groups.Group) (*config.Config, []*config.Problem, error) {
	c, err := config.Load(e.Config, e.platforms, registered...)
	problems := wrongWith(c, err)
	if err != nil && len(problems) == 0 {
		return nil, nil, noConfig(err)
	}
	return c, problems, nil
}

// withRegistered is a configuration with the groups that the state has; c itself if it has none.
func (e *env) withRegistered(c *config.Config, known serve.Known) *config.Config {
	if len(known.Registered) == 0 {
		return c
	}
	if joined, err := config.Load(e.Config, e.platforms, known.Registered...); err == nil {
		return joined
	}
	return c
}

// sayUnknown says on stderr that the state could not be read, if err is not nil.
func (e *env) sayUnknown(err error) {
	if err != nil {
		fmt.Fprintf(e.Stderr, "warning: %s\n", media.Printable(unknown(err)))
	}
}

func unknown(err error) string { return "registered groups could not be read: " + err.Error() }

// wrongWith returns every problem that would stop serve from starting: those of
// reading the configuration, or, if it could be read, those of its meaning.
func wrongWith(c *config.Config, err error) []*config.Problem {
	if err != nil {
		return config.ProblemsOf(err)
	}
	return serve.Unsupported(c, serve.OfflineChannels(c))
}

func (e *env) showConfig() error {
	c, unread, err := e.read()
	if err != nil {
		return err
	}
	e.sayUnknown(unread)
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode configuration: %w", err)
	}
	if e.JSON {
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return fmt.Errorf("encode configuration: %w", err)
		}
	}
	for line := range strings.Lines(string(text)) {
		e.Say("%s", strings.TrimRight(line, "\r\n"))
	}
	return nil
}

// load reads the configuration. It prints each problem with its line on stderr, and the error then
// only says how many there are. It lacks the registered groups if the state cannot be read: a command
// that needs the state says why.
func (e *env) load() (*config.Config, error) {
	c, _, err := e.read()
	return c, err
}

// read is load, and returns why the registered groups could not be read.
func (e *env) read() (_ *config.Config, unread, err error) {
	c, err := config.Load(e.Config, e.platforms)
	if err == nil {
		known, unread := serve.Knows(context.Background(), c, store.Look)
		return e.withRegistered(c, known), unread, nil
	}
	problems := config.ProblemsOf(err)
	if len(problems) == 0 {
		return nil, nil, noConfig(err)
	}
	e.printProblems("", problems)
	return nil, nil, tooManyProblems(e.Config, len(problems))
}

// warningsOf returns the warnings of c, a list for programs; empty if c is nil.
func warningsOf(c *config.Config) []*config.Problem {
	if c == nil || c.Warnings == nil {
		return []*config.Problem{}
	}
	return c.Warnings
}

// printProblems prints each problem on stderr after the prefix what.
func (e *env) printProblems(what string, problems []*config.Problem) {
	for _, p := range problems {
		for line := range strings.Lines(what + p.Error()) {
			if strings.HasPrefix(line, "  hint: ") {
				line = e.Remedy(line)
			}
			fmt.Fprintln(e.Stderr, media.Printable(strings.TrimRight(line, "\n")))
		}
	}
}

func noConfig(err error) error { return terminal.Hinted(err, noConfigHint(err)) }

func noConfigHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "longshore init writes a longshore.yaml to start from, longshore setup also starts the host; --config names another place"
	case errors.Is(err, fs.ErrPermission):
		return asHostUser(err)
	}
	return "--config names the file itself"
}

// asHostUser is the hint if this user may not read the configuration. It has the whole command if the
// owner of the file, or of its directory, is known.
func asHostUser(err error) string {
	const hint = "run this as the user that the host runs as"
	failed, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return hint
	}
	for _, path := range []string{failed.Path, filepath.Dir(failed.Path)} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		owner, err := ownerOf(info)
		if err == nil && path == failed.Path && owner.Uid == strconv.Itoa(os.Geteuid()) {
			return doctor.Allow(path)
		}
		if err == nil && owner.Uid != strconv.Itoa(os.Geteuid()) {
			return hint + ": sudo -u " + finding.ShellWord(owner.Username) + " longshore -c " + finding.ShellWord(failed.Path) + " …"
		}
		break
	}
	return hint
}

func tooManyProblems(name string, n int) error {
	return terminal.Hinted(fmt.Errorf("%s has %s", name, media.Count(n, "problem")), "longshore config schema, and docs/configuration.md, say what may stand there")
}
