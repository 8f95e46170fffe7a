package docker

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// The codes of refusals about volumes.
const (
	CodeNoVolume     = "not_found"
	CodeVolumeInUse  = "workspace_in_use"
	removeVolumeHint = "stop the host, or wait until the assistant has ended: longshore status"
)

// Volumes lists the groups that have a volume with their assistant's workspace.
func (e *Engine) Volumes(ctx context.Context, owner string) (folders []string, err error) {
	found, err := e.api.VolumeList(ctx, client.VolumeListOptions{Filters: client.Filters{}.Add("label", labelState+"="+ownerID(owner))})
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range found.Items {
		folders = append(folders, v.Labels[labelGroup])
	}
	return folders, nil
}

// RemoveVolume removes the volume with a group's workspace, and all that is in it. The error
// is a *refusal.Error if there is none, or if a container has it.
func (e *Engine) RemoveVolume(ctx context.Context, owner, folder string) error {
	name := Volume(owner, folder)
	found, err := e.api.VolumeInspect(ctx, name, client.VolumeInspectOptions{})
	if errdefs.IsNotFound(err) || err == nil && found.Volume.Labels[labelState] != ownerID(owner) {
		return &refusal.Error{Code: CodeNoVolume, Message: fmt.Sprintf("no volume has a workspace of %q", folder), Hint: "see: longshore workspace list"}
	}
	if err == nil {
		_, err = e.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	}
	if errdefs.IsConflict(err) {
		return &refusal.Error{Code: CodeVolumeInUse, Message: fmt.Sprintf("the assistant of %q runs, and uses its workspace", folder), Hint: removeVolumeHint}
	}
	if err != nil {
		return fmt.Errorf("remove volume: %w", err)
	}
	return nil
}
