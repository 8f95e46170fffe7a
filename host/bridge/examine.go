package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

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

// Examine goes the way of a request up to the point where its files would be copied:
// authorize, open, check. It converts and accepts nothing, and does not ask whether the
// outbox has room. The error is that which accepting the request would meet; the finding
// beside it has what was found before, and the properties of a file that the channel does
// not take.
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

// look checks a file as accepting it does, up to the copy.
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

// check returns what an open file is, in the form in which the channel takes it.
func (d destination) check(f *os.File, ref ipc.FileRef) (media.Info, error) {
	info, err := d.examine(f, ref)
	if err != nil {
		return media.Info{}, err
	}
	return d.limits.Fit(d.channel.Name(), info)
}

// examine returns what an open file is. It reads the file's head, and the description of a
// film's tracks.
func (d destination) examine(f *os.File, ref ipc.FileRef) (media.Info, error) {
	stat, err := f.Stat()
	if err != nil {
		return media.Info{}, fmt.Errorf("stat: %w", err)
	}
	head := make([]byte, min(stat.Size(), media.HeadSize))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return media.Info{}, fmt.Errorf("read head: %w", err)
	}
	return classify(ref, head[:n], f, stat.Size())
}

// classify returns what a file is by its head and tracks.
func classify(ref ipc.FileRef, head []byte, all io.ReaderAt, size int64) (media.Info, error) {
	info, err := media.ClassifyTracks(nameOf(ref), ref.MIME, head, probe.Tracks(all, size), size, media.Style(ref.As))
	if err != nil {
		return media.Info{}, err
	}
	info.Alt = altOf(ref.Alt)
	return info, nil
}

// screenSource screens the text that a file was printed from: the print itself holds
// pictures of letters.
func (d destination) screenSource(open Opener, ref ipc.FileRef) error {
	if ref.Source == "" {
		return nil
	}
	f, err := open(ref.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	return d.screened(f, stat.Size(), append(f.Names, namesOf(nil, ref)...)...)
}

// namesOf returns the names by which a file is screened: those that led to it, its name in
// the chat, and those of the file of which it is a copy.
func namesOf(opened []string, ref ipc.FileRef) []string {
	all := append(slices.Clone(opened), ref.Path, nameOf(ref))
	if ref.From != "" {
		all = append(all, strings.Split(ref.From, " -> ")...)
	}
	slices.Sort(all[1:])
	return slices.Compact(all)
}

// nameOf returns the name that a file is to have in the chat.
func nameOf(ref ipc.FileRef) string { return cmp.Or(ref.Name, path.Base(ref.Path)) }
