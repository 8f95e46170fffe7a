package bridge

import (
	"io"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// Finding is what Examine finds of a request.
type Finding struct {
	Chat    groups.JID
	Channel string       // that carries the chat
	Limits  media.Limits // of the channel, no wider than the group's
	Files   []media.Info // in order, each as the channel takes it
}

// Examine goes the way of a request up to the point where its files would be
// copied: authorize, open, check. It converts nothing. It accepts nothing and needs no outbox, so
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

// look is what accepting a file does, up to the copy.
func (d destination) look(open Opener, ref ipc.FileRef) (media.Info, error) {
	f, err := open(ref.Path)
	if err != nil {
		return media.Info{}, err
	}
	defer f.Close()
	info, err := d.check(f.File, ref)
	if d.asLink(info, err) {
		info.Note, err = linkNote(info.Note, err), nil
	}
	if err == nil {
		err = d.permit(info)
	}
	if err == nil {
		err = d.screen.Check(f, info.Size, append(namesOf(f.Names, ref), info.Name)...)
	}
	if err == nil {
		err = d.screenSource(open, ref)
	}
	return info, err
}

// classify looks at a file's head and tracks.
func classify(ref ipc.FileRef, head []byte, all io.ReaderAt, size int64) (media.Info, error) {
	info, err := media.ClassifyTracks(nameOf(ref), ref.MIME, head, probe.Tracks(all, size), size, media.Style(ref.As))
	if err != nil {
		return media.Info{}, err
	}
	info.Alt = altOf(ref.Alt)
	return info, nil
}
