// Package driver runs agent CLIs as agents: Claude Code, codex, gemini-cli and
// opencode. Each turn starts the CLI with the prompt on stdin, in the mode in which
// it prints its events as JSON lines, and resumes the conversation by the CLI's own
// session id. Claude Code reads stdin while it runs, so it also gets the follow-ups.
//
// The package writes outside the group's workspace, in the assistant's home
// directory ([Options].Home). The CLIs keep their sessions there too. So the home
// must outlive the container if conversations are to do so.
//
//	<home>/claude/               CLAUDE_CONFIG_DIR
//	<home>/codex/                CODEX_HOME
//	<home>/gemini/.gemini/       GEMINI_CLI_HOME, with our part of settings.json and LONGSHORE.md
//	<home>/opencode/             XDG_*_HOME, with our longshore.md
//
// If the environment already names such a directory, or the user's home already has
// the CLI's usual one, that directory is used. The CLIs read AGENTS.md and CLAUDE.md
// in the workspace themselves; the package never writes these.
//
// The package installs no CLI and stores no secret: each CLI gets the keys and
// addresses of models through its usual variables. [Rights] limit the CLI through
// the CLI's own settings; only the container enforces a limit.
package driver

import (
	"cmp"
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
	"github.com/longshore-bridge/longshore/agentrunner/internal/toolcheck"
	"github.com/longshore-bridge/longshore/agentrunner/mcpconfig"
	"github.com/longshore-bridge/longshore/internal/cause"
)

//go:embed instructions.md
var instructions string

// Names lists the CLIs that New knows, in alphabetical order.
func Names() []string { return []string{"claude", "codex", "gemini", "opencode"} }

// Rights are what a CLI may do without asking, as there is nobody to ask.
type Rights string

const (
	// Workspace allows editing below the working directory and calls of Longshore's
	// tools. Commands run in the CLI's own sandbox, or not at all.
	Workspace Rights = "workspace"
	// Full allows everything. Use it only in a container.
	Full Rights = "full"
)

// Options are the settings of a Driver. A turn's environment supplies those that are
// empty.
type Options struct {
	Program string       // the CLI; empty: $LONGSHORE_AGENT_PROGRAM, else its usual name
	Tools   []string     // program and arguments that start the tools' server
	Home    string       // empty: $LONGSHORE_AGENT_HOME, else .longshore in the home directory
	Dir     string       // the workspace, absolute; empty: the working directory
	Log     *slog.Logger // gets each turn's usage; nil means discard
}

// Driver is an Agent that runs one CLI.
type Driver struct {
	name  string
	cli   cli
	o     Options
	meter meter
}

var _ agent.Agent = (*Driver)(nil)

// New returns the driver of a CLI. It does not check whether the CLI is installed.
// An unknown name is an error.
func New(name string, o Options) (*Driver, error) {
	clis := map[string]cli{"claude": claude{}, "codex": codex{}, "gemini": gemini{}, "opencode": opencode{}}
	c, ok := clis[name]
	if !ok {
		return nil, fmt.Errorf("unknown agent CLI %q; use one of %s", name, strings.Join(Names(), ", "))
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Driver{name: name, cli: c, o: o}, nil
}

// cli is what differs between the CLIs.
type cli interface {
	// command returns the arguments and the additional environment of one turn, and
	// writes the files that they name.
	command(s setup) (args, env []string, err error)
	// prompt escapes a member's text so that the CLI reads all of it as text, and
	// nothing in it as a command or as a file to include.
	prompt(text string) string
	// event reads one line of the CLI's output into the answer.
	event(line []byte, a *answer)
	// complaint reads one line of the CLI's log into the answer.
	complaint(line string, a *answer)
	// lost is a part of the CLI's message for an unknown session.
	lost() string
}

// answer is what is known of a turn so far.
type answer struct {
	text    string
	session string
	message string      // id of the CLI's message that text belongs to
	calls   int         // number of tool calls
	done    bool        // the CLI reported that the answer is complete
	answers int         // of a listener: number of answers so far; done refers to the last
	taken   string      // of a listener: id of the message that it took up last
	err     string      // why the turn failed, in the CLI's words
	trouble string      // the CLI's last complaint after which it went on
	why     cause.Cause // of err, or else of trouble
	steps   int         // number of events that show that the model answers
	tools   int         // number of tool calls under way
	giveUp  bool        // the CLI would go on without success: end it
	usage   usage
}

// say adds a piece of the answer. Only the last message counts: earlier messages
// announce what the model is going to do.
func (a *answer) say(message, text string) {
	if a.message != message {
		a.text, a.message = "", message
	}
	if len(a.text) < maxText {
		a.text += text
	}
}

// fail ends the answer with an error, whose cause is in words.
func (a *answer) fail(status int, err, words string) {
	a.err, a.why = err, causeOf(status, words)
}

// complain records trouble after which the CLI goes on.
func (a *answer) complain(status int, trouble, words string) {
	a.trouble, a.why = trouble, causeOf(status, words)
}

// ended returns the cause of a run that ended with an exit status and without an
// answer.
func (a answer) ended(err error) cause.Cause {
	var said *childError
	if a.trouble != "" {
		return a.why
	}
	if errors.As(err, &said) && said.exited() {
		if c := causeOf(0, said.Error()); c != cause.Failed {
			return c
		}
	}
	return cause.Stopped
}

func (a answer) reply() agent.Reply {
	return agent.Reply{Text: strings.TrimSpace(a.text), Session: a.session}
}

// maxText limits the collected text, in bytes; it is more than any answer that is
// passed on.
const maxText = 2 << 20

// Turn runs the CLI once, and fails if the CLI answers without our tools. If the CLI no longer knows the session, Turn runs it a
// second time with a new conversation. The processes that the CLI leaves in its
// process group end with the turn. An error contains the CLI's own message.
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
	check, err := toolcheck.New(t.Getenv("TMPDIR"))
	if err != nil {
		return answer{}, err
	}
	defer check.End()
	s.toolsEnv[toolcheck.Variable] = check.Dir
	args, env, err := d.cli.command(s)
	if err != nil {
		return answer{}, fmt.Errorf("prepare %s: %w", d.name, err)
	}
	started := time.Now()
	running, end := context.WithCancel(ctx)
	defer end()
	words := newTalk(d.cli, t, end)
	w := newWatch(d, t, words, check, end)
	c := child{program: s.program, args: args, env: append(s.env, env...), dir: s.dir, write: words.write, complaint: w.complaint}
	err = c.run(running, w.event)
	a := w.stop()
	if ctx.Err() != nil {
		return answer{}, ctx.Err()
	}
	if a.done || a.answers > 0 || err == nil { // otherwise the CLI may not even have started
		d.report(t, a, time.Since(started))
	}
	if words.err != nil {
		return answer{}, words.err
	}
	return a, d.failure(a, err)
}

// failure returns why a turn has no answer; nil if it has one.
func (d *Driver) failure(a answer, err error) error {
	switch {
	case a.err != "":
		if said, ok := errors.AsType[*childError](err); ok && strings.Contains(said.stderr, d.cli.lost()) {
			return fmt.Errorf("%s: %s (%s)", d.name, a.err, d.cli.lost())
		}
		return cause.With(a.why, fmt.Errorf("%s: %s", d.name, a.err))
	case a.done:
		return nil
	case err != nil && cause.Of(err) == "":
		return cause.With(a.ended(err), fmt.Errorf("run %s: %w", d.name, err))
	case err != nil:
		return fmt.Errorf("run %s: %w", d.name, err)
	}
	return cause.With(cause.Stopped, fmt.Errorf("%s ended without an answer", d.name))
}

// setup holds everything that one turn's command is built from.
type setup struct {
	program      string
	tools        []string
	toolsEnv     map[string]string // for the tools, as some CLIs do not pass on their own environment
	token        bool              // the tools need mcpconfig.TokenVariable too; its value stands in no configuration
	dir          string            // the workspace
	home         string            // of the assistant
	own          bool              // the user's home is not the workspace, so the files in it can be trusted
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
	s.program = cmp.Or(s.program, t.Getenv("LONGSHORE_AGENT_PROGRAM"), d.name)
	s.user = t.Getenv("HOME")
	s.own = filepath.IsAbs(s.user) && filepath.Clean(s.user) != filepath.Clean(s.dir)
	s.home = cmp.Or(s.home, t.Getenv("LONGSHORE_AGENT_HOME"), filepath.Join(s.user, ".longshore"))
	if !filepath.IsAbs(s.home) {
		return setup{}, fmt.Errorf("the assistant's home %q is not an absolute path: set LONGSHORE_AGENT_HOME to one", s.home)
	}
	s.model = t.Getenv("LONGSHORE_MODEL")
	var err error
	if s.rights, err = rights(t); err != nil {
		return setup{}, err
	}
	s.toolsEnv, s.token = s.forTools(), s.getenv(mcpconfig.TokenVariable) != ""
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

// rights allows everything only in a container, unless LONGSHORE_RIGHTS is set.
// LONGSHORE_MOUNTS shows that there is no container.
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
