// Package driver makes agents of agent CLIs: Claude Code, codex, gemini-cli
// and opencode. Each turn starts the CLI anew with the prompt on stdin, in the
// mode in which it prints its events as JSON lines, and takes the conversation
// up again by the CLI's own session id. To Claude Code, which listens while it
// runs, the follow-ups go too.
//
// What the package writes lies outside the group's workspace, below the
// assistant's home ([Options].Home); a CLI keeps its sessions there too, so the
// home must outlive the container for a conversation to do so.
//
//	<home>/claude/               CLAUDE_CONFIG_DIR
//	<home>/codex/                CODEX_HOME
//	<home>/gemini/.gemini/       GEMINI_CLI_HOME, with our part of settings.json and LONGSHORE.md
//	<home>/opencode/             XDG_*_HOME, with our longshore.md
//
// A directory that the environment names already, or that the CLI has in a
// home of its own, is left where it is. AGENTS.md and CLAUDE.md in the
// workspace are read by the CLIs themselves and never written.
//
// The package installs no CLI and keeps no secret: keys and addresses of
// models reach a CLI by its usual variables. How little the CLI may do is a
// matter of its own settings ([Rights]); what keeps it there is the container.
package driver

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

//go:embed instructions.md
var instructions string

// Names lists the CLIs that New knows, sorted.
func Names() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// Rights are what a CLI may do without asking; there is nobody to ask.
type Rights string

const (
	// Workspace lets it edit below its working directory and call Longshore's
	// tools. Commands run in the CLI's own sandbox, or not at all.
	Workspace Rights = "workspace"
	// Full lets it do everything. It belongs into a container.
	Full Rights = "full"
)

// Options say how a CLI is run. Those that the environment of a turn can
// change are read from it.
type Options struct {
	Program string       // the CLI; empty: $LONGSHORE_AGENT_PROGRAM, else its usual name
	Tools   []string     // how the tools' server is started
	Home    string       // empty: $LONGSHORE_AGENT_HOME, else .longshore in the home directory
	Dir     string       // the workspace, absolute; empty: the working directory
	Log     *slog.Logger // told each turn's usage; nil means discard
}

// Driver is an Agent that runs one CLI.
type Driver struct {
	name  string
	cli   cli
	o     Options
	meter meter
}

var _ agent.Agent = (*Driver)(nil)

// New returns the driver of a CLI. It does not look whether it is installed.
func New(name string, o Options) (*Driver, error) {
	clis := map[string]cli{"claude": claude{}, "codex": codex{}, "gemini": gemini{}, "opencode": opencode{}}
	c, ok := clis[name]
	if !ok {
		return nil, fmt.Errorf("there is no driver for %q: one of %s", name, strings.Join(Names(), ", "))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Driver{name: name, cli: c, o: o}, nil
}

// cli is what differs from one CLI to the next.
type cli interface {
	// command returns the arguments and the further environment of one turn,
	// and writes the files that they speak of.
	command(s setup) (args, env []string, err error)
	// prompt writes what the members wrote so that the CLI takes all of it for
	// words, and nothing for a command or a file to be included.
	prompt(text string) string
	// event takes in one line of what the CLI prints.
	event(line []byte, a *answer)
	// lost is a part of what the CLI says when it does not know a session.
	lost() string
}

// answer is what was learnt of a turn so far.
type answer struct {
	text    string
	session string
	message string // which of the CLI's messages text belongs to
	calls   int    // of tools, so far
	done    bool   // the CLI said that the answer is whole
	answers int    // of a listener, so far; done speaks of the last
	taken   string // of a listener: the message that it has taken up last
	err     string // why it failed, in the CLI's words
	trouble string // the last that it complained of and did not end for
	giveUp  bool   // it would go on, and to no purpose: end it
	usage   usage
}

// say takes over a piece of the answer. Only the last message counts: those
// before it tell what the model is about to do.
func (a *answer) say(message, text string) {
	if a.message != message {
		a.text, a.message = "", message
	}
	if len(a.text) < maxText {
		a.text += text
	}
}

func (a answer) reply() agent.Reply {
	return agent.Reply{Text: strings.TrimSpace(a.text), Session: a.session}
}

// maxText is more than any answer that is passed on.
const maxText = 2 << 20

// Turn runs the CLI once, or twice where it has lost the session: then the
// conversation begins anew. What the CLI left in its process group ends with
// the turn. An error holds the CLI's own words.
func (d *Driver) Turn(ctx context.Context, t agent.Turn) (agent.Reply, error) {
	a, err := d.once(ctx, t)
	if err != nil && ctx.Err() == nil && t.Session != "" && strings.Contains(err.Error(), d.cli.lost()) {
		d.o.Log.Warn("session is gone; the conversation begins anew", "agent", d.name, "session", t.Session)
		t.Session = ""
		a, err = d.once(ctx, t)
	}
	if err != nil {
		return agent.Reply{}, err
	}
	return a.reply(), nil
}

func (d *Driver) once(ctx context.Context, t agent.Turn) (answer, error) {
	s, err := d.setup(t)
	if err != nil {
		return answer{}, err
	}
	args, env, err := d.cli.command(s)
	if err != nil {
		return answer{}, fmt.Errorf("prepare %s: %w", d.name, err)
	}
	a := answer{session: t.Session}
	started := time.Now()
	running, end := context.WithCancel(ctx)
	defer end()
	words := newTalk(d.cli, t, end)
	c := child{program: s.program, args: args, env: append(s.env, env...), dir: s.dir, write: words.write}
	err = c.run(running, func(line []byte) {
		was := a
		d.cli.event(line, &a)
		if a.trouble != was.trouble {
			d.o.Log.Warn("agent has trouble", "agent", d.name, "reason", a.trouble)
		}
		if a.giveUp {
			end()
		}
		words.hear(was, &a)
	})
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	if a.done || a.answers > 0 || err == nil { // else it may not even have started
		d.report(t.Session, a, time.Since(started))
	}
	if words.err != nil {
		return answer{}, words.err
	}
	return a, d.failure(a, err)
}

// failure is why a turn has no answer, if it has none.
func (d *Driver) failure(a answer, err error) error {
	switch {
	case a.err != "":
		var said *childError
		if errors.As(err, &said) && strings.Contains(said.stderr, d.cli.lost()) {
			return fmt.Errorf("%s: %s (%s)", d.name, a.err, d.cli.lost())
		}
		return fmt.Errorf("%s: %s", d.name, a.err)
	case a.done:
		return nil
	case err != nil:
		return fmt.Errorf("run %s: %w", d.name, err)
	}
	return fmt.Errorf("%s ended without an answer", d.name)
}

// setup is what one turn's command is made from.
type setup struct {
	program      string
	tools        []string
	toolsEnv     map[string]string // what the tools need, for CLIs that do not hand their own environment on
	dir          string            // the workspace
	home         string            // of the assistant
	own          bool              // the user's home is another directory than the workspace, so what lies in it counts
	user         string            // the user's home
	model        string            // empty: the CLI's choice
	rights       Rights
	session      string
	instructions string
	env          []string // of this process and of the turn
	getenv       func(string) string
}

func (d *Driver) setup(t agent.Turn) (setup, error) {
	s := setup{program: d.o.Program, tools: d.o.Tools, dir: d.o.Dir, home: d.o.Home, session: t.Session, getenv: t.Getenv,
		env: append(os.Environ(), t.Env...)}
	if s.dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return setup{}, fmt.Errorf("find the working directory: %w", err)
		}
		s.dir = dir
	}
	if s.program == "" {
		s.program = t.Getenv("LONGSHORE_AGENT_PROGRAM")
	}
	if s.program == "" {
		s.program = d.name
	}
	s.user = t.Getenv("HOME")
	s.own = filepath.IsAbs(s.user) && filepath.Clean(s.user) != filepath.Clean(s.dir)
	if s.home == "" {
		s.home = t.Getenv("LONGSHORE_AGENT_HOME")
	}
	if s.home == "" {
		s.home = filepath.Join(s.user, ".longshore")
	}
	if !filepath.IsAbs(s.home) {
		return setup{}, fmt.Errorf("the assistant's home %q is no absolute path: set LONGSHORE_AGENT_HOME", s.home)
	}
	s.model = t.Getenv("LONGSHORE_MODEL")
	var err error
	if s.rights, err = rights(t); err != nil {
		return setup{}, err
	}
	s.toolsEnv = s.forTools()
	if err := s.hideWorkspace(); err != nil {
		return setup{}, err
	}
	s.instructions = instructions
	if name := t.Getenv("LONGSHORE_ASSISTANT_NAME"); name != "" {
		s.instructions += "\nThe members call you " + clean(name) + ".\n"
	}
	shared, err := s.shared()
	s.instructions += shared
	return s, err
}

// rights gives all rights in a container only. A runtime without one says
// where the container's directories really lie.
func rights(t agent.Turn) (Rights, error) {
	switch r := Rights(t.Getenv("LONGSHORE_RIGHTS")); r {
	case Workspace, Full:
		return r, nil
	case "":
		if t.Getenv("LONGSHORE_MOUNTS") != "" {
			return Workspace, nil
		}
		return Full, nil
	default:
		return "", fmt.Errorf("LONGSHORE_RIGHTS: %q is neither %s nor %s", r, Workspace, Full)
	}
}
