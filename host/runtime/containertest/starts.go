package containertest

import (
	"context"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// starts imports the base image into an engine, and has a container of it start and
// end. As with docker.Runtime, the container's first process is the engine's own: an
// engine that answers may lack that program, a runtime or a cgroup.
func starts(ctx context.Context, host string) error {
	if err := importBase(ctx, host); err != nil {
		return fmt.Errorf("make a base image: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return err
	}
	defer api.Close()
	init := true
	made, err := api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config:     &container.Config{Image: baseName, Cmd: []string{"/bin/true"}},
		HostConfig: &container.HostConfig{Init: &init, NetworkMode: "none", LogConfig: container.LogConfig{Type: "none"}},
	})
	if err != nil {
		return fmt.Errorf("create a container: %w", err)
	}
	defer func() {
		_, _ = api.ContainerRemove(context.WithoutCancel(ctx), made.ID, client.ContainerRemoveOptions{Force: true})
	}()
	ended := api.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start a container: %w", err)
	}
	select {
	case end := <-ended.Result:
		if end.StatusCode != 0 {
			return fmt.Errorf("a container ended with status %d", end.StatusCode)
		}
	case err := <-ended.Error:
		return fmt.Errorf("wait for a container: %w", err)
	}
	return nil
}
