package serve

import (
	"context"
	"os"
	"slices"
	"sync"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/remote"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/ipc"
)

// openRemote opens the server of assistants that share no directory with the host, if the
// configuration says so. The host runs on if the server cannot listen.
func (h *Host) openRemote(ctx context.Context) (_ Part, err error) {
	c := h.Config()
	if c.Remote.Listen == "" && !letsIn(c) {
		return nil, nil
	}
	h.remote, err = remote.Open(ctx, remote.Options{
		Listen: c.Remote.Listen, Hosts: c.Remote.Hosts, Dir: h.Layout.Remote(), State: h.State,
		Live: &h.Current, Chats: fetching{h}, Inbox: fetching{h}, Spool: h.spool, Disk: h.disk, Log: h.opts.Log,
		Limits: remoteLimits(c.Remote.Limits),
	})
	if err != nil {
		return nil, err
	}
	h.down.Tell(upkeep.Listener("remote"), h.remote.Listen())
	return remotePart{Server: h.remote, h: h}, nil
}

// remotePart lets assistants elsewhere in.
type remotePart struct {
	noApply
	*remote.Server
	h *Host
}

func (p remotePart) Run(ctx context.Context) error {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { p.Sweep(ctx) })
	p.h.down.Keep(ctx, upkeep.Listener("remote"), p.Listen, p.Server.Run)
	return nil
}

// remoteLimits returns the remote server's bounds of the configuration.
func remoteLimits(l config.RemoteLimits) intake.Limits {
	return intake.Limits{Fields: int64(l.Fields), Buffer: int64(l.Buffer), Uploads: l.Uploads, UploadFor: l.UploadFor.Std(), Header: int(l.Header),
		HeaderTime: l.HeaderTime.Std(), Pace: int64(l.Pace), Grace: l.Grace.Std(), Group: l.Group, Strangers: l.Strangers}
}

// usesSSH reports whether the host starts an assistant over ssh.
func usesSSH(c *config.Config) bool {
	for _, a := range c.Assistants {
		if a.Runtime == config.OverSSH {
			return true
		}
	}
	return false
}

// letsIn reports whether an assistant that the host starts uses the remote server.
func letsIn(c *config.Config) bool { return usesSSH(c) || slices.ContainsFunc(c.Groups, c.Alone) }

// fetching implements remote.Chats and remote.Inbox. It asks the host at each call, because the server
// is opened before the assistants.
type fetching struct{ host *Host }

func (f fetching) Context(g groups.Group) ipc.Context { return f.host.contextOf(g) }

func (f fetching) Fetch(ctx context.Context, folder, thread, after string) (ipc.Inbox, <-chan struct{}, error) {
	return f.host.assistants.Fetch(ctx, folder, thread, after)
}

func (f fetching) Ack(ctx context.Context, folder, thread, id, answer string) (bool, error) {
	return f.host.assistants.Ack(ctx, folder, thread, id, answer)
}

func (f fetching) Unheard(folder, thread, id string) (bool, error) {
	return f.host.assistants.Unheard(folder, thread, id)
}

func (f fetching) AskPermission(ctx context.Context, folder, thread string, p ipc.Permission) (ipc.Permission, error) {
	return f.host.Bridge.AskPermission(ctx, folder, thread, p)
}

func (f fetching) Permission(folder, thread, id string) (ipc.Permission, <-chan struct{}, error) {
	return f.host.Bridge.Permission(folder, thread, id)
}

func (f fetching) FetchFile(folder, thread, id string, number int) (*os.File, ipc.MessageFile, error) {
	return f.host.assistants.FetchFile(folder, thread, id, number)
}
