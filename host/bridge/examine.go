package bridge

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Finding is what Examine finds of a request.
type Finding struct {
	Chat    groups.JID
	Channel string       // that carries the chat
	Limits  media.Limits // of the channel, no wider than the group's
	Files   []media.Info // in order, each as the channel takes it
}

// Examine goes the way of a request up to the point where its files would be
// copied: authorize, open, check. It accepts nothing and needs no outbox, so
// it does not know whether that has room. An error is what accepting the
// request would meet; what was found before it comes along, and of a file that
// the channel does not take, what it is.
func (b *Bridge) Examine(folder string, r ipc.Request, open Opener) (Finding, error) {
	dst, err := b.authorize(folder, r)
	if err != nil {
		return Finding{}, err
	}
	found := Finding{Chat: dst.chat, Channel: dst.channel.Name(), Limits: dst.limits}
	for i, ref := range r.Files {
		info, err := dst.look(open, ref)
		if info.Kind != "" {
			found.Files = append(found.Files, info)
		}
		if err != nil {
			return found, refuseAll(open, r.Files, i, dst, err)
		}
	}
	return found, nil
}

// destination is a chat that the source may send to, with what its channel takes.
type destination struct {
	chat    groups.JID
	channel channel.Channel // that carries it
	limits  media.Limits
}

// authorize turns the claimed chat into a destination. The source is known by
// its folder alone; what the request says of it must agree.
func (b *Bridge) authorize(folder string, r ipc.Request) (destination, error) {
	if r.Folder != "" && r.Folder != folder {
		return destination{}, &ipc.Refusal{
			Code:    "wrong_group",
			Message: "the request names another group's folder as its own",
			Hint:    "leave groupFolder out, or give your own group's folder",
		}
	}
	registry := b.Registry()
	chat, err := registry.Authorize(folder, r.Chat)
	if err != nil {
		return destination{}, err
	}
	source, _ := registry.ByFolder(folder) // the registry knows it: it has authorized it
	if c := channel.Named(b.Channels, chat.Channel); c != nil {
		return destination{chat: chat.JID, channel: c, limits: c.Limits().Tighten(source.Limits)}, nil
	}
	return destination{}, &ipc.Refusal{
		Code:    "channel_unsupported",
		Message: fmt.Sprintf("no channel of this host carries %q", string(chat.JID)),
		Hint:    "ask the operator to configure the chat's channel",
	}
}

// look is what accepting a file does, up to the copy.
func (d destination) look(open Opener, ref ipc.FileRef) (media.Info, error) {
	f, err := open(ref.Path)
	if err != nil {
		return media.Info{}, err
	}
	defer f.Close()
	return d.check(f, ref)
}

// check says what an open file is and as what the channel takes it. It reads
// the file's head and no more.
func (d destination) check(f *os.File, ref ipc.FileRef) (media.Info, error) {
	stat, err := f.Stat()
	if err != nil {
		return media.Info{}, fmt.Errorf("stat: %w", err)
	}
	head := make([]byte, min(stat.Size(), media.HeadSize))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return media.Info{}, fmt.Errorf("read head: %w", err)
	}
	return d.classify(ref, head[:n], stat.Size())
}

func (d destination) classify(ref ipc.FileRef, head []byte, size int64) (media.Info, error) {
	name := ref.Name
	if name == "" {
		name = path.Base(ref.Path)
	}
	info, err := media.Classify(name, ref.MIME, head, size, media.Style(ref.As))
	if err != nil {
		return media.Info{}, err
	}
	return d.limits.Fit(d.channel.Name(), info)
}
