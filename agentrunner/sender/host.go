package sender

import (
	"errors"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// hostView is the host's description of itself. The zero value stands for a host
// that publishes none, as hosts of the older protocol do.
type hostView struct {
	context ipc.Context
	known   bool
	main    bool
	shares  bool  // directories of this process
	err     error // why it is not known
}

func (s *Sender) host() hostView {
	context, err := s.client.Context()
	return hostView{context: context, known: err == nil, main: s.config.Main, shares: s.files == FilesShared, err: err}
}

// refused is the problem with which the host, or the way to it, refuses to tell anything;
// nil if it told, or is of the older protocol.
func (h hostView) refused() *Problem {
	p, _ := errors.AsType[*Problem](asProblem(h.err))
	return p
}

func (h hostView) limit(k media.Kind) int64 { return h.context.Limits[string(k)] }

func (h hostView) channel() string {
	if h.context.Channel == "" {
		return "the chat"
	}
	return h.context.Channel
}

// mounts returns the directories that the host and the container share.
func (h hostView) mounts() []ipc.ContextMount {
	if !h.shares {
		return nil
	}
	if h.known && len(h.context.Mounts) > 0 {
		return h.context.Mounts
	}
	mounts := []ipc.ContextMount{{Path: "/workspace/group"}, {Path: "/workspace/global"}, {Path: "/workspace/extra"},
		{Path: containerIPC + "/" + ipc.FilesDir}}
	if h.main {
		mounts = append(mounts, ipc.ContextMount{Path: "/workspace/project"},
			ipc.ContextMount{Path: "/workspace/project/.env", Shadow: true})
	}
	return mounts
}
