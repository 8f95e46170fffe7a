package serve

import (
	"context"
	"fmt"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/nanoclaw"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// tellSnapshots writes what agents of NanoClaw v1 read of their host, if the state directory is one of
// v1's: for a group whose tasks have changed and for main, or for all groups if folder is empty.
func (h *Host) tellSnapshots(folder string) {
	if !h.Layout.V1 {
		return
	}
	h.telling.Lock() // from the look to the last write: what is older must not be written last
	defer h.telling.Unlock()
	all, err := h.tasks.List(context.Background(), "")
	if err != nil {
		h.opts.Log.Error("write snapshots", "error", err)
		return
	}
	for _, g := range h.Registry().All() {
		if folder == "" || g.Main || g.Folder == folder {
			h.tellSnapshot(g, all)
		}
	}
}

// tellSnapshot writes the snapshots of one group. all are the tasks of all groups.
func (h *Host) tellSnapshot(g groups.Group, all []tasks.Task) {
	var chats []ipc.ChatInfo
	if g.Main {
		chats = h.contextOf(g).Chats
	} else {
		all = slices.DeleteFunc(slices.Clone(all), func(t tasks.Task) bool { return t.Folder != g.Folder })
	}
	shown := make([]spool.TaskSnapshot, len(all))
	for i, t := range all {
		shown[i] = spool.TaskSnapshot{ID: t.Shown(), Folder: t.Folder, Prompt: t.Prompt, Type: t.Type, Value: t.Value, Status: t.Status}
		if !t.Next.IsZero() {
			shown[i].Next = &t.Next
		}
	}
	if err := h.spool.WriteSnapshots(g.Folder, chats, shown); err != nil {
		h.opts.Log.Error("write snapshots", "group", g.Folder, "error", err)
	}
}

// takeOverTasks takes v1's tasks over, once, at the first start on a directory of v1's.
func (h *Host) takeOverTasks(ctx context.Context) error {
	if !h.Layout.V1 {
		return nil
	}
	theirs, err := nanoclaw.Tasks(ctx, h.Layout.State)
	if err != nil {
		return fmt.Errorf("take over NanoClaw's tasks: %w", err)
	}
	var all []tasks.Task
	for _, t := range theirs {
		if t.Script {
			h.opts.Log.Warn("NanoClaw's task not taken over: it has a script", "task", t.ID, "group", t.Folder)
			continue
		}
		all = append(all, tasks.Task{ID: t.ID, Folder: t.Folder, Prompt: t.Prompt, Type: t.Type, Value: t.Value, Mode: t.Mode, Status: t.Status})
	}
	left, err := h.tasks.Import(ctx, "nanoclaw v1", all)
	for id, reason := range left {
		h.opts.Log.Warn("NanoClaw's task not taken over", "task", id, "error", reason)
	}
	return err
}
