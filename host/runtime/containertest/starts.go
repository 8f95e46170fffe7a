package containertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
)

// starts imports the base image into an engine, and has an assistant's container of it
// start and end: an engine that answers may lack a runtime, a right, or the program
// that is a container's first process.
func starts(ctx context.Context, engine *docker.Engine) error {
	if err := importBase(ctx, engine.Facts().Host); err != nil {
		return fmt.Errorf("make a base image: %w", err)
	}
	if engine.Facts().Rootless && os.Geteuid() == 0 {
		return nil // it starts no container for another user, and a test starts its host as that user
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "lsc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := docker.Runtime{Engine: engine, Image: baseName, State: dir, Network: "none", Memory: 64 << 20, Pids: 64, Grace: time.Second}
	s, err := r.Start(ctx, runtime.Spec{
		Group: groups.Group{Folder: "probe"}, Command: []string{"/bin/sh", "-c", "cat >/dev/null"}, Input: []byte("{}"), LogDir: filepath.Join(dir, "logs"),
	})
	if err != nil {
		return err
	}
	for range s.Outputs() { //nolint:revive // there are none
	}
	return s.Wait()
}
