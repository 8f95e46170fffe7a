package web

import (
	"image"
	_ "image/gif"  // sizes of pictures
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"io"

	_ "golang.org/x/image/webp" // likewise

	"github.com/longshore-bridge/longshore/media"
)

// maxHeader is how far into a picture its size is looked for: a JPEG's may
// stand behind kilobytes of camera data.
const maxHeader = 1 << 20

// describe is a staged file as the history keeps it. The name is made safe
// once more: it becomes part of addresses and of members' disks.
func describe(s *staged, info media.Info) *File {
	f := &File{ID: s.ID, Name: media.SafeName(info.Name), MIME: info.MIME, Kind: info.Kind, Size: s.Size, SHA256: s.SHA256, Loop: info.Loop}
	if info.Kind == media.Image || info.Kind == media.Sticker {
		f.Width, f.Height = dimensions(s)
	}
	f.finish()
	return f
}

// dimensions reads the header only and never decodes. A picture whose size it
// cannot tell has none.
func dimensions(s *staged) (width, height int) {
	f, err := s.open()
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	c, _, err := image.DecodeConfig(io.LimitReader(f, maxHeader))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}
