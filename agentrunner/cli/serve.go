package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/agent/directive"
	"github.com/longshore-bridge/longshore/agentrunner/agent/driver"
	"github.com/longshore-bridge/longshore/agentrunner/agent/dropdir"
	"github.com/longshore-bridge/longshore/agentrunner/agent/sample"
	"github.com/longshore-bridge/longshore/agentrunner/claudepush"
	"github.com/longshore-bridge/longshore/agentrunner/internal/forward"
	"github.com/longshore-bridge/longshore/agentrunner/internal/toolcheck"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/sshside"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
)

func (c *call) mcp(args []string) int {
	if _, status, done := c.parse(flags("mcp"), args, 0, 0); done {
		return status
	}
	check := toolcheck.Server(os.Getenv(toolcheck.Variable))
	config, err := sender.FromEnv(os.Getenv)
	if err != nil {
		check.Refused(err)
		return c.fail(err)
	}
	config.Upload = config.Wait // a call that ends too late is lost to the CLI
	if config.Remote != nil {
		config.Remote.OnRefused(check.Refused)
	}
	ctx, stop := interrupted(false)
	defer stop()
	server := tools.Server(sender.New(config), c.version, check.Listed)
	if err := tools.ServeStdio(ctx, server, c.stdin, c.stdout, c.logger()); err != nil {
		return c.fail(fmt.Errorf("serve the tools: %w", err))
	}
	return exitOK
}

// channel pushes members' messages into the Claude Code session that starts it.
func (c *call) channel(args []string) int {
	if _, status, done := c.parse(flags("channel"), args, 0, 0); done {
		return status
	}
	config, err := sender.FromEnv(os.Getenv)
	if err != nil {
		return c.fail(err)
	}
	if config.Remote == nil {
		return c.usage(errors.New("channel: LONGSHORE_URL and LONGSHORE_TOKEN are missing; see docs/remote.md"))
	}
	config.Upload = config.Wait
	ctx, stop := interrupted(false)
	defer stop()
	permissions, err := claudepush.Allowed(ctx, config.Remote)
	if err != nil {
		return c.refused(err, false)
	}
	dir, err := os.Getwd()
	if err != nil {
		return c.fail(err)
	}
	err = claudepush.Serve(ctx, claudepush.Options{
		Host: config.Remote, Sender: sender.New(config), Version: c.version, Permissions: permissions, Dir: dir, Log: c.logger(),
	}, c.stdin, c.stdout)
	if err != nil {
		return c.fail(err)
	}
	return exitOK
}

func (c *call) run(args []string) int {
	set := flags("run")
	name := set.String("agent", os.Getenv("LONGSHORE_AGENT"), "")
	if _, status, done := c.parse(set, args, 0, 0); done {
		return status
	}
	assistant, err := c.assistant(*name)
	if err != nil {
		return c.usage(err)
	}
	config, err := sender.FromEnv(os.Getenv)
	if err != nil {
		return c.fail(err)
	}
	options := agent.Options{IPC: config.IPC, Log: c.logger()}
	if socket := os.Getenv("LONGSHORE_MODEL_SOCKET"); socket != "" {
		options.Listen = os.Getenv("LONGSHORE_MODEL_LISTEN")
		var stop func()
		options.Model, stop, err = forward.Listen(options.Listen, socket)
		if err != nil {
			return c.fail(err)
		}
		defer stop()
	}
	// directive is the outer one, so files named in the answer come after those in
	// the drop directory.
	assistant = dropdir.Agent{Next: assistant, Log: c.logger()}
	options.Agent = directive.Agent{Next: assistant, Log: c.logger()}
	ctx, stop := interrupted(false)
	defer stop()
	if err := agent.Run(ctx, c.stdin, c.stdout, options); err != nil {
		return c.fail(err)
	}
	return exitOK
}

// far runs an assistant for a host on another machine.
func (c *call) far(args []string) int {
	if _, status, done := c.parse(flags("far"), args, 0, 0); done {
		return status
	}
	self, err := c.self()
	if err != nil {
		return c.fail(err)
	}
	status, err := sshside.Serve(append(self, "run"), c.stdin, c.stdout, c.stderr)
	if err != nil {
		return c.fail(err)
	}
	return status
}

// Agents lists the agents that run accepts.
func Agents() []string { return append([]string{"sample", "command"}, driver.Names()...) }

// assistant returns the agent of this name; empty means sample.
func (c *call) assistant(name string) (agent.Agent, error) {
	if !slices.Contains(Agents(), name) && name != "" {
		return nil, fmt.Errorf("run: there is no agent %q: one of %s", name, strings.Join(Agents(), ", "))
	}
	if name == "command" {
		command, err := agent.ParseCommand(os.Getenv("LONGSHORE_AGENT_COMMAND"))
		if err != nil {
			return nil, fmt.Errorf("LONGSHORE_AGENT_COMMAND: %w", err)
		}
		return command, nil
	}
	self, err := c.self()
	if err != nil {
		return nil, err
	}
	tools := append(self, "mcp")
	if name == "" || name == "sample" {
		return sample.Agent{Tools: tools}, nil
	}
	return driver.New(name, driver.Options{Tools: tools, Log: c.logger()})
}

// self returns the arguments that start this program again, up to the command. They
// come from $LONGSHORE_AGENTRUNNER, or else from the executable and the arguments
// before this call's: longshore acts as agentrunner if its first argument is
// agentrunner.
func (c *call) self() ([]string, error) {
	if v := os.Getenv("LONGSHORE_AGENTRUNNER"); v != "" {
		var argv []string
		if err := json.Unmarshal([]byte(v), &argv); err != nil || len(argv) == 0 {
			return nil, fmt.Errorf("LONGSHORE_AGENTRUNNER: %q is not a JSON array of strings", v)
		}
		return argv, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	before := len(os.Args) - len(c.args)
	if before < 1 || !slices.Equal(os.Args[before:], c.args) {
		before = 1
	}
	return append([]string{path}, os.Args[1:before]...), nil
}

// logger writes to stderr: both an MCP client and Longshore's host read the log
// there.
func (c *call) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(c.stderr, nil))
}
