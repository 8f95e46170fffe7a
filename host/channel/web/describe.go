package web

import (
	"bytes"

	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// describe returns a staged file as the history stores it. The name is made safe again,
// because it becomes part of addresses and of file names on members' disks.
func (w *Web) describe(s *staged, info media.Info) *File {
	f := &File{ID: s.Name, Name: media.SafeName(info.Name), MIME: info.MIME, Kind: info.Kind, Size: s.Size, SHA256: s.SHA256, Loop: info.Loop, Alt: info.Alt}
	if info.Kind == media.Image || info.Kind == media.Sticker {
		f.Width, f.Height = w.dimensions(s)
	}
	f.finish()
	return f
}

// dimensions returns a picture's size in pixels; 0, 0 if it is unknown.
func (w *Web) dimensions(s *staged) (width, height int) {
	if s.Bytes != nil {
		return probe.Dimensions(bytes.NewReader(s.Bytes))
	}
	f, err := w.blobs.Open(s.Name)
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	return probe.Dimensions(f)
}
