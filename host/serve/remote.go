package serve

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/remote"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/upkeep"
	"github.com/longshore-bridge/longshore/ipc"
)

// openRemote listens for assistants that share no directory with the host, if the
// configuration says so.
func (h *Host) openRemote(ctx context.Context) (_ Part, err error) {
	c := h.Config()
	if c.Remote.Listen == "" && !letsIn(c) {
		return nil, nil
	}
	h.remote, err = remote.Open(ctx, remote.Options{
		Listen: c.Remote.Listen, Hosts: c.Remote.Hosts, Dir: h.Layout.Remote(), State: h.State,
		Live: &h.Current, Chats: fetching{h}, Inbox: fetching{h}, Spool: h.spool, Records: h.Outbox.Reader(), Disk: h.disk, Log: h.opts.Log,
		Limits: remoteLimits(c.Remote.Limits),
	})
	if err != nil {
		return nil, err
	}
	p := remotePart{server: h.remote}
	if c.Remote.Listen != "" {
		p.Listener = h.down.Listener("remote", h.remote)
	}
	return p, nil
}

// remotePart lets assistants elsewhere in.
type remotePart struct {
	noApply
	*upkeep.Listener // nil: only those that the host starts
	server           *remote.Server
}

func (p remotePart) Run(ctx context.Context) error {
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	sweeping.Go(func() { p.server.Sweep(ctx) })
	return p.Listener.Run(ctx)
}

// remoteLimits returns the remote server's bounds of the configuration.
func remoteLimits(l config.RemoteLimits) intake.Limits {
	return intake.Limits{Fields: int64(l.Fields), Buffer: int64(l.Buffer), Uploads: l.Uploads, UploadFor: l.UploadFor.Std(), Header: int(l.Header),
		HeaderTime: l.HeaderTime.Std(), Speed: int64(l.Speed), Grace: l.Grace.Std(), Group: l.Group, Strangers: l.Strangers}
}

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

func (f fetching) Permission(ctx context.Context, folder, thread, id string, wait time.Duration) (ipc.Permission, error) {
	return f.host.Bridge.Permission(ctx, folder, thread, id, wait)
}

func (f fetching) FetchFile(folder, thread, id string, number int) (*os.File, ipc.MessageFile, error) {
	return f.host.assistants.FetchFile(folder, thread, id, number)
}
