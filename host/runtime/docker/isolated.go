package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/agentrunner/sshside"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/feed"
)

// Access lets an assistant in that shares no directory with the host.
type Access interface {
	// Admit serves the assistant of a group over a listener of its own, and returns the
	// token that it must show there. end takes both back.
	Admit(l net.Listener, folder, thread string) (token string, end func(), err error)
}

// ModelAccess serves the models' proxy of a group over a listener of its own, until end.
type ModelAccess func(ctx context.Context, l net.Listener, folder string) (end func(), err error)

// ModelSocket is the name of the socket in the directory Spec.Model.
const ModelSocket = "model.sock"

// What a container has that shares no directory.
const (
	accessDir     = mounts.Workspace + "/access" // the socket's directory, read-only
	accessSocket  = "host.sock"
	ownDir        = mounts.Workspace + "/own" // the group's volume
	ownHome       = ownDir + "/home"
	isolatedPlace = "/tmp/longshore" // the session's own, in memory
)

// socketDir is the host's directory of a group's socket.
func (r Runtime) socketDir(folder string) string {
	return filepath.Join(r.State, "sockets", folder)
}

// Volume is the name of a group's volume, of an installation whose Runtime.Owner is owner.
func Volume(owner, folder string) string { return "longshore-" + ownerID(owner) + "-" + folder }

// ErrFarEngine is returned if the engine may run on another machine, where no socket of
// this one can be mounted. It is permanent.
var ErrFarEngine = errors.New("share: none mounts a socket of this machine, and the engine's address may be another machine's; use the engine's unix socket here, ssh: below engines: for another machine's, or share: directories")

// listen listens on a socket that only the user of this engine's containers can connect to.
// Its directory is the host's, and others can pass through it but not look into it.
func (e *Engine) listen(dir string) (net.Listener, error) {
	if e.Socket() == "" {
		return nil, ErrFarEngine
	}
	path := filepath.Join(dir, accessSocket)
	err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.MkdirAll(dir, 0o700))
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err == nil {
		if err = os.Remove(path); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make socket directory: %w", err)
	}
	l, err := bind(dir)
	if err != nil {
		return nil, fmt.Errorf("listen for assistants' calls: %w", err)
	}
	uid, gid := e.Owner()
	if err := errors.Join(os.Chmod(path, 0o600), os.Lchown(path, uid, gid)); err != nil {
		return nil, errors.Join(fmt.Errorf("hand over socket: %w", err), l.Close())
	}
	return l, nil
}

// bind binds the socket below a handle of its directory: the path of a state directory can
// be longer than a socket's address. Only the host's user passes the directory above, so that
// nobody else can connect before the socket has its mode.
func bind(dir string) (net.Listener, error) {
	address := filepath.Join(dir, accessSocket)
	if goruntime.GOOS == "linux" {
		d, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		address = fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), accessSocket)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: address, Net: "unix"})
	if err == nil {
		l.SetUnlinkOnClose(false) // the next listen removes it; the handle is closed by then
	}
	return l, err
}

// isolated is a session that shares no directory.
type isolated struct {
	*feed.Feeder
	begin sshside.Begin
	dir   string // of the host's socket, on the engine's machine
	model string // of the socket to the models, if the session opened it
	end   func() // ends the ways to the host and to the models
}

// openIsolated opens the session's way to the host. The caller calls end.
func (r Runtime) openIsolated(ctx context.Context, s *session, spec runtime.Spec) (*isolated, error) {
	if spec.Place > 0 {
		return nil, errors.New("assistants with share: none cannot run at the same time")
	}
	folder := spec.Group.Folder
	l, dir, err := r.listen(ctx, folder, accessSocket)
	if err != nil {
		return nil, err
	}
	token, end, err := r.Access.Admit(l, folder, spec.Thread)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("let the assistant in: %w", err), l.Close())
	}
	model, end, err := r.openModel(ctx, folder, end)
	if err != nil {
		return nil, err
	}
	mark := "longshore-" + rand.Text()
	return &isolated{
		dir: dir, model: model,
		Feeder: &feed.Feeder{Spec: spec, Mark: mark, To: toContainer{s}, Break: toContainer{s}, Log: s.log},
		begin: sshside.Begin{
			Folder: folder, Slot: "0", Run: isolatedPlace, Agent: spec.Agent, Env: feed.Environment(spec),
			Socket: accessDir + "/" + accessSocket, Token: token, Mark: mark,
		},
		end: end,
	}, nil
}

// listen listens on a socket of a group's, and returns its directory on the engine's machine.
func (r Runtime) listen(ctx context.Context, folder, socket string) (net.Listener, string, error) {
	if r.Engine.link == nil {
		dir := r.socketDir(folder)
		l, err := r.Engine.listen(dir)
		return l, dir, err
	}
	uid, gid := r.Engine.Owner()
	sum := sha256.Sum256([]byte(r.Owner + "\x00" + folder + "\x00" + socket))
	return r.Engine.link.ListenFor(ctx, hex.EncodeToString(sum[:6]), socket, uid, gid)
}

// openModel opens the session's way to the models on an engine elsewhere, and returns its
// directory there; empty: it has none. The end that it returns ends access too, as an error
// does.
func (r Runtime) openModel(ctx context.Context, folder string, access func()) (dir string, both func(), err error) {
	if r.Engine.link == nil || r.Model == nil {
		return "", access, nil
	}
	l, dir, err := r.listen(ctx, folder, ModelSocket)
	if err != nil {
		access()
		return "", nil, err
	}
	end, err := r.Model(ctx, l, folder)
	if err != nil {
		access()
		return "", nil, errors.Join(fmt.Errorf("open the way to the model: %w", err), l.Close())
	}
	return dir, func() { access(); end() }, nil
}

// toContainer writes to the container's standard input, which is there once it is attached.
type toContainer struct{ s *session }

func (c toContainer) Write(p []byte) (int, error) { return c.s.stream.Conn.Write(p) }

// Close implements io.Closer.
func (c toContainer) Close() error { return c.s.stream.CloseWrite() }

func (s *session) endInput() { _ = s.stream.CloseWrite() }

// feed writes what the container gets on its standard input, until it has all, or has
// ended.
func (s *session) feed(ctx context.Context, input []byte) {
	defer s.endInput()
	if s.isolated == nil {
		_, _ = s.stream.Conn.Write(input)
		return
	}
	if err := s.isolated.Open(s.isolated.begin); err != nil {
		if ctx.Err() == nil {
			s.log.Warn("start document not handed over", "error", err)
		}
		return
	}
	s.isolated.Run(ctx)
}

// isolatedOptions is options for a container that shares no directory. Nothing that the engine
// could show is a secret or a path of the host, but that of the socket.
func (r Runtime) isolatedOptions(o client.ContainerCreateOptions, model []mount.Mount, tz string) client.ContainerCreateOptions {
	o.Config.Entrypoint, o.Config.WorkingDir = []string{"agentrunner", "far"}, ownDir
	o.Config.Env = []string{"HOME=" + ownHome, "LANG=C.UTF-8", "TZ=" + tz}
	o.Config.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}} // the image's looks for a queue
	o.HostConfig.Mounts = append(model,
		mount.Mount{
			Type: mount.TypeVolume, Source: Volume(r.Owner, o.Config.Labels[labelGroup]), Target: ownDir,
			VolumeOptions: &mount.VolumeOptions{NoCopy: true},
		},
		// Read-only, so that no assistant can put another socket there. The directory and
		// not the socket, which each session makes anew.
		mount.Mount{
			Type: mount.TypeBind, Source: r.accessDir, Target: accessDir, ReadOnly: true,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	delete(o.HostConfig.Tmpfs, r.Home)
	return o
}

// makeVolume makes the group's volume, if it is missing. Its labels are the container's.
func (r Runtime) makeVolume(ctx context.Context, labels map[string]string) error {
	name := Volume(r.Owner, labels[labelGroup])
	_, err := r.Engine.api.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if errdefs.IsNotFound(err) {
		_, err = r.Engine.api.VolumeCreate(ctx, client.VolumeCreateOptions{Name: name, Labels: labels})
	}
	if err != nil {
		return fmt.Errorf("make the group's volume: %w", err)
	}
	return nil
}

// makeHome makes the home directory in the volume of a container that was not started yet.
// Whatever the image says, it belongs to the container's user.
func (e *Engine) makeHome(ctx context.Context, id string) error {
	uid, gid := e.user()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: filepath.Base(ownHome) + "/", Mode: 0o700, Uid: uid, Gid: gid})
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	_, err = e.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: ownDir, Content: io.Reader(&b)})
	if err != nil {
		return fmt.Errorf("make home directory in the group's volume: %w", err)
	}
	return nil
}
