package containertest

import (
	"archive/tar"
	"io"
	"os"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// Base returns the name of an image with a small Debian, as the function Base
// does for the shared engine.
func (p *Private) Base() string {
	p.t.Helper()
	engine, err := docker.Connect(p.t.Context(), p.Getenv)
	if err != nil {
		p.t.Fatal(err)
	}
	defer engine.Close()
	if err := starts(p.t.Context(), engine); err != nil {
		unavailable(p.t, err)
	}
	return baseName
}

// Runner returns the name of an image with a small Debian and this tree's
// agentrunner.
func (p *Private) Runner() string {
	p.t.Helper()
	path := Runner(p.t)
	name := "longshore-test/runner:" + digest(path)
	api := p.API()
	if _, err := api.ImageInspect(p.t.Context(), name); err == nil {
		return name
	}
	if err := p.putRunner(api, p.Base(), path, name); err != nil {
		p.t.Fatalf("make an image with agentrunner: %v", err)
	}
	return name
}

// putRunner makes the image called name from base and the program at path.
func (p *Private) putRunner(api *client.Client, base, path, name string) error {
	ctx := p.t.Context()
	made, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &container.Config{
		Image: base, Entrypoint: []string{"agentrunner"}, Cmd: []string{"run"},
	}})
	if err != nil {
		return err
	}
	defer api.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{})
	packed, pack := io.Pipe()
	go func() { pack.CloseWithError(packRunner(pack, path)) }()
	if _, err := api.CopyToContainer(ctx, made.ID, client.CopyToContainerOptions{DestinationPath: "/usr/local/bin", Content: packed}); err != nil {
		return err
	}
	_, err = api.ContainerCommit(ctx, made.ID, client.ContainerCommitOptions{Reference: name})
	return err
}

func packRunner(to io.Writer, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	if err := w.WriteHeader(&tar.Header{Name: "agentrunner", Mode: 0o755, Size: int64(len(data))}); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}
