package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
)

// outgoing is a file on its way: as it was opened, or as it was converted.
type outgoing struct {
	file *os.File
	ref  ipc.FileRef   // the file as it is called from now on
	note string        // what was done, or not; may be empty
	made *convert.File // by a conversion; nil: file is as it was opened
	info media.Info    // of a file as it was opened; without a Kind it is not known yet
}

// close removes a converted file.
func (o outgoing) close() {
	if o.made != nil {
		_ = o.made.Close() // which only gives its room back
	}
}

// shown converts a file that the chat would refuse or show badly. A file that cannot be
// converted is sent as it is. The only errors are ctx's, and that of removing a useless
// result.
func (b *Bridge) shown(ctx context.Context, f *os.File, ref ipc.FileRef, dst destination) (outgoing, error) {
	asIs := outgoing{file: f, ref: ref}
	if b.Convert == nil {
		return asIs, nil
	}
	plain := ref
	plain.As = ""
	info, err := dst.examine(f, plain)
	if err != nil {
		return asIs, nil //nolint:nilerr // which the check refuses with its own words
	}
	if ref.As == "" {
		asIs.info = info
	}
	style := media.Style(ref.As)
	recipe, ok := convert.For(info, style, dst.limits)
	if !ok {
		return asIs, nil
	}
	if convert.Partly(f, info.Size, info.MIME) {
		asIs.note = "not " + recipe.Note + ": ffmpeg would keep a part of the picture only"
		return asIs, nil
	}
	out, err := b.Convert.Run(ctx, f, recipe, dst.limits.Kinds[recipe.Kind].Bytes)
	switch {
	case ctx.Err() != nil:
		return asIs, fmt.Errorf("convert file: %w", ctx.Err())
	case errors.Is(err, confine.ErrOff), errors.Is(err, exec.ErrNotFound):
		return asIs, nil
	case err != nil:
		b.Log.Info("file not converted", "file", info.Name, "type", info.MIME, "error", err)
		asIs.note = "not " + recipe.Note + ": " + reasonOf(err)
		return asIs, nil
	}
	made := ref
	made.Name, made.MIME = recipe.Name, recipe.MIME
	if info.MIME == "image/gif" {
		made.As = string(media.AsGIF)
	}
	if now, err := dst.check(out.File, made); err != nil || now.Kind != recipe.Kind {
		asIs.note = "not " + recipe.Note + ": the result would not be shown either"
		return asIs, out.Close()
	}
	return outgoing{file: out.File, ref: made, note: recipe.Note, made: out}, nil
}

// checkOutgoing is check of a file that may have been examined just now.
func (d destination) checkOutgoing(o outgoing) (media.Info, error) {
	if o.info.Kind == "" {
		return d.check(o.file, o.ref)
	}
	return d.limits.Fit(d.channel.Name(), o.info)
}

// reasonOf returns what the agent reads of a conversion's error, which itself may quote the
// file.
func reasonOf(err error) string {
	if errors.Is(err, convert.ErrBusy) {
		return convert.ErrBusy.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took longer than " + convert.Time.String()
	}
	return "ffmpeg could not do it within its limits"
}
