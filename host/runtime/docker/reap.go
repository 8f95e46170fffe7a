package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
)

// removeTime limits the removal of one container.
const removeTime = 30 * time.Second

// Reap ends and removes every container that belongs to the owner, which is
// Runtime.Owner, and returns their groups. A host calls it before it starts any
// container, and must be the only host of the installation. Containers of
// sessions whose Spec.Engine is one of those others stay: an engine may have
// two names.
func (e *Engine) Reap(ctx context.Context, owner string, others ...string) (folders []string, err error) {
	left, err := e.api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: client.Filters{}.Add("label", labelState+"="+ownerID(owner)),
	})
	if err != nil {
		return nil, fmt.Errorf("list containers of an earlier host: %w", err)
	}
	var errs []error
	for _, c := range left.Items {
		if slices.Contains(others, c.Labels[labelEngine]) {
			continue
		}
		if err := e.remove(ctx, c.ID); err != nil {
			errs = append(errs, fmt.Errorf("remove container of group %s: %w", c.Labels[labelGroup], err))
			continue
		}
		folders = append(folders, c.Labels[labelGroup])
	}
	return folders, errors.Join(errs...)
}

// remove kills a container if it runs, and waits until it is removed.
func (e *Engine) remove(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, removeTime)
	defer cancel()
	gone := e.api.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: "removed"})
	_, err := e.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil && !errdefs.IsConflict(err) { // a conflict: it is already being removed
		return err
	}
	select {
	case <-gone.Result:
		return nil
	case err := <-gone.Error:
		if errdefs.IsNotFound(err) {
			return nil
		}
		return err
	}
}

// remember notes a container that could not be removed, for Sweep.
func (e *Engine) remember(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = append(e.left, id)
}

// Sweep removes the containers that sessions could not remove, for example
// because the engine had gone away. If there are none, it does not contact the
// engine. Containers that it cannot remove wait for the next call.
func (e *Engine) Sweep(ctx context.Context) {
	e.mu.Lock()
	left := e.left
	e.left = nil
	e.mu.Unlock()
	for i, id := range left {
		if err := e.remove(ctx, id); err != nil {
			e.mu.Lock()
			e.left = append(e.left, left[i:]...)
			e.mu.Unlock()
			return
		}
	}
}
