// Package claudepush pushes members' messages into a Claude Code session that runs elsewhere:
// "agentrunner channel" is an MCP server on stdin and stdout that Claude Code starts. It
// fetches the messages at the host and writes each as a notification. It also has
// the tools of package tools, and those that end a message.
//
// Claude Code acknowledges no notification, and drops those of a server that it does not
// take for a channel. So a message is done only when the session has called got_message or
// answer_message with its id. Until then the host keeps it, pending_messages lists it, and
// it is pushed again after five minutes and by the next process. After three pushes the
// host tells chat and operator.
//
// Source of the capabilities' and notifications' names and fields: Claude Code's "Channels
// reference", https://code.claude.com/docs/en/channels-reference, of version 2.1.80 and
// later. They are experimental there.
package claudepush

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
)

// What the protocol calls its parts.
const (
	capChannel    = "claude/channel"
	capPermission = "claude/channel/permission"
	notifyMessage = "notifications/claude/channel"
	notifyAnswer  = "notifications/claude/channel/permission"
	notifyRequest = "notifications/claude/channel/permission_request"
)

// Host is what this package asks of the host; *remoteclient.Client has it.
type Host interface {
	Chat(ctx context.Context) (ipc.Context, error)
	Inbox(ctx context.Context, after string, wait time.Duration) (ipc.Inbox, error)
	Ack(ctx context.Context, id, text string) (done bool, err error)
	CopyFile(ctx context.Context, w io.Writer, message ipc.Message, file ipc.MessageFile) error
	Unheard(ctx context.Context, id string) (waits bool, err error)
	AskPermission(ctx context.Context, p ipc.Permission) (ipc.Permission, error)
	Permission(ctx context.Context, id string, wait time.Duration) (ipc.Permission, error)
}

var _ Host = (*remoteclient.Client)(nil)

// Options is what Serve works with. All but Log are needed.
type Options struct {
	Host        Host
	Sender      *sender.Sender
	Version     string
	Permissions bool   // the session may ask members for permissions
	Dir         string // in which a directory is made for members' files
	Log         *slog.Logger
}

// ErrOff is returned by Allowed if the operator has not turned channels on for the group.
var ErrOff = errors.New("messages of this group are not pushed into sessions: the operator turns it on with claude_channel: messages for the assistant; see docs/remote.md")

// hostTimeout is how long Allowed waits for a host that is away.
const hostTimeout = 20 * time.Second

// Allowed asks the host what a session of the token's group may do. It waits a while for a
// host that is away. The error is ErrOff or a *sender.Problem.
func Allowed(ctx context.Context, host *remoteclient.Client) (permissions bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	for {
		x, err := host.Chat(ctx)
		if codeOf(err) == "unreachable" && wake.Sleep(ctx, time.Second) {
			continue
		}
		if err != nil {
			return false, asProblem(err)
		}
		if x.Claude == "" {
			return false, ErrOff
		}
		return x.Claude == "permissions", nil
	}
}

// codeOf is the code of an error that the host or the client has words for; else empty.
func codeOf(err error) string {
	if p, ok := errors.AsType[*remoteclient.Problem](err); ok {
		return p.Code
	}
	return ""
}

// Serve serves one session until stdin ends or ctx is done; neither is an error. It has
// ended all that it started when it returns. A process may run it once at a time.
func Serve(ctx context.Context, o Options, stdin io.Reader, stdout io.Writer) error {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	p := newPusher(o.Host, o.Log)
	capabilities := map[string]any{capChannel: map[string]any{}}
	if o.Permissions {
		capabilities[capPermission] = map[string]any{}
	}
	start := sync.OnceFunc(func() {
		running.Go(func() { p.fetch(ctx) })
		running.Go(func() { p.run(ctx) })
	})
	m := tools.SessionServer(o.Sender, o.Version, &messages{Options: o, pusher: p, ready: start}, server.WithExperimental(capabilities))
	p.notify = func(method string, params map[string]any) error {
		return m.SendNotificationToSpecificClient("stdio", method, params)
	}
	if o.Permissions {
		r := &relay{host: o.Host, log: o.Log, notify: p.notify, open: map[string]bool{}}
		m.AddNotificationHandler(notifyRequest, func(_ context.Context, n mcp.JSONRPCNotification) {
			if q, ok := r.begin(n.Params.AdditionalFields); ok {
				running.Go(func() { r.ask(ctx, q) })
			}
		})
	}
	if err := tools.ServeStdio(ctx, m, stdin, stdout, o.Log); err != nil {
		return fmt.Errorf("serve the channel: %w", err)
	}
	return nil
}
