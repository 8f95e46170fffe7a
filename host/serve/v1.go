package serve

import "github.com/longshore-bridge/longshore/ipc"

// tellSnapshots writes what agents of NanoClaw v1 read of their host, where
// the state directory is one of v1's.
func (h *Host) tellSnapshots() {
	if !h.Layout.V1 {
		return
	}
	for _, g := range h.Registry().All() {
		var chats []ipc.ChatInfo
		if g.Main {
			chats = h.contextOf(g).Chats
		}
		if err := h.spool.WriteSnapshots(g.Folder, chats); err != nil {
			h.opts.Log.Error("write snapshots", "group", g.Folder, "error", err)
		}
	}
}
