package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/runtime"
)

// The labels of a container.
const (
	labelState = "longshore.state" // id of the installation, see ownerID
	labelGroup = "longshore.group" // the group's folder

	labelEngine = "longshore.engine" // the engine's name in the configuration; may be empty
)

// ModelDir is where a container has the directory Spec.Model.
const ModelDir = mounts.Workspace + "/model"

// maxFiles is how many files a process may have open.
const maxFiles = 16384

// ownerID identifies an installation without revealing its owner, which may be a path.
func ownerID(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:6])
}

// options returns everything that the engine learns about a container.
func (r Runtime) options(spec runtime.Spec) (client.ContainerCreateOptions, error) {
	env, err := runtime.Environment(spec, map[string]string{"HOME": r.Home}, nil)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	var binds []mount.Mount
	if r.Access == nil {
		if binds, err = r.shared(spec); err != nil {
			return client.ContainerCreateOptions{}, err
		}
	}
	if spec.Model != "" {
		if err := sameDirectory(spec.Model); err != nil && r.Engine.link == nil {
			return client.ContainerCreateOptions{}, fmt.Errorf("mount %s: %w", ModelDir, err)
		}
		// Read-only, so that no assistant can put another socket there. The
		// directory and not the socket, which a restarted host makes anew.
		binds = append(binds, mount.Mount{
			Type: mount.TypeBind, Source: spec.Model, Target: ModelDir, ReadOnly: true,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	id := ownerID(r.Owner)
	name := "longshore-" + id + "-" + spec.Group.Folder
	if spec.Place > 0 { // no folder's name has a dot
		name += "." + strconv.Itoa(spec.Place)
		env = append(env, "LONGSHORE_OWN_OUTBOX=1")
	}
	uid, gid := r.Engine.user()
	o := client.ContainerCreateOptions{
		Name: name,
		Config: &container.Config{
			Image: r.Image, Entrypoint: spec.Command, Env: env,
			User: fmt.Sprintf("%d:%d", uid, gid), WorkingDir: mounts.Workspace + "/group", Hostname: "assistant",
			Labels:    map[string]string{labelState: id, labelGroup: spec.Group.Folder, labelEngine: spec.Engine},
			OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		},
		HostConfig: r.confine(binds),
	}
	if r.Access != nil {
		o = r.isolatedOptions(o, binds, cmp.Or(spec.TZ, "UTC"))
	}
	return o, nil
}

// shared returns the mounts of what a container shares with the host.
func (r Runtime) shared(spec runtime.Spec) ([]mount.Mount, error) {
	binds, err := bindings(spec.Mounts)
	if err != nil || r.Homes == "" {
		return binds, err
	}
	home, err := r.keptHome(spec.Group.Folder)
	if err != nil {
		return nil, fmt.Errorf("make home directory: %w", err)
	}
	return append(binds, home), nil
}

// confine returns the settings that isolate the container.
func (r Runtime) confine(binds []mount.Mount) *container.HostConfig {
	init := true // a first process that collects orphaned children
	config := &container.HostConfig{
		Mounts:         binds,
		NetworkMode:    container.NetworkMode(r.Network),
		ReadonlyRootfs: true,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		IpcMode:        container.IPCModePrivate,
		Init:           &init,
		OomScoreAdj:    500, // the kernel kills an assistant before the host
		LogConfig:      container.LogConfig{Type: "none"},
		Tmpfs: map[string]string{
			"/tmp": fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,size=%d", r.Memory/2),
		},
		Resources: container.Resources{
			Memory: r.Memory, MemorySwap: r.Memory, // memory and swap together, so there is no swap
			NanoCPUs: int64(r.CPUs * 1e9), PidsLimit: &r.Pids,
			Ulimits: []*container.Ulimit{{Name: "core"}, {Name: "nofile", Soft: maxFiles, Hard: maxFiles}},
		},
	}
	if r.Homes == "" {
		// The engine gives the file system the mode of the image's directory,
		// so the user must own it.
		config.Tmpfs[r.Home] = fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,%s,size=%d", r.Engine.owner(), r.Memory/2)
	}
	if r.Engine.facts.Podman {
		forPodman(config)
	}
	if r.Engine.userns { // otherwise the group's directories would belong to another user
		config.UsernsMode = "host"
	}
	return config
}

// bindings converts the mounts to the engine's form, in the table's order.
func bindings(table []mounts.Mount) ([]mount.Mount, error) {
	var all []mount.Mount
	for _, m := range table {
		if m.Shadow {
			if _, err := os.Lstat(m.Hides); os.IsNotExist(err) {
				continue // the project is read-only, so the engine could not create a mount point
			}
		}
		if m.Shadow && m.Host == "" {
			all = append(all, mount.Mount{
				Type: mount.TypeTmpfs, Target: m.Container, ReadOnly: true,
				TmpfsOptions: &mount.TmpfsOptions{SizeBytes: 4096, Mode: 0o555},
			})
			continue
		}
		if !m.Shadow {
			if err := sameDirectory(m.Host); err != nil {
				return nil, fmt.Errorf("mount %s: %w", m.Container, err)
			}
		}
		all = append(all, mount.Mount{
			Type: mount.TypeBind, Source: m.Host, Target: m.Container, ReadOnly: m.ReadOnly,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	return all, nil
}

// keptHome returns the mount of the group's home directory, and creates the
// directory if it is missing.
func (r Runtime) keptHome(folder string) (mount.Mount, error) {
	dir := filepath.Join(r.Homes, folder)
	if err := os.MkdirAll(r.Homes, 0o755); err != nil {
		return mount.Mount{}, err
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		uid, gid := r.Engine.onHost(os.Geteuid(), os.Getegid())
		err = os.Lchown(dir, uid, gid)
	} else if os.IsExist(err) {
		if err = sameDirectory(dir); err == nil {
			err = r.Engine.Access([]mounts.Mount{{Container: r.Home, Host: dir}})
		}
	}
	return mount.Mount{
		Type: mount.TypeBind, Source: dir, Target: r.Home,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
	}, err
}

// sameDirectory refuses a path that contains a link: the engine would follow a
// link that was planted after the configuration was read.
func sameDirectory(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case real != filepath.Clean(path):
		return fmt.Errorf("%s leads to %s by a link that was not there when the host started", path, real)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	}
	return nil
}
