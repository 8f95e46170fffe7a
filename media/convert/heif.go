package convert

import (
	"bytes"
	"io"
	"slices"
)

// Partly reports whether only a part of a picture would be converted: the first page of a
// TIFF, the first moment of one that moves, or one tile of a picture that is composed in a way that nobody here reads. mime is
// the picture's type, and size its bytes.
func Partly(r io.ReaderAt, size int64, mime string) bool {
	switch mime {
	case "image/tiff":
		return ManyPages(r)
	case "image/heic", "image/heif":
		_, err := readHEIC(r, size)
		return err != nil
	case "image/avif":
		return composed(r)
	case "image/webp", "image/png":
		return moving(r)
	}
	return false
}

// headHEIF is how much of a HEIF file is searched for its description, in bytes.
const headHEIF = 1 << 20

// composed reports whether an AVIF file (ISO/IEC 23008-12) puts its picture together of
// tiles, or turns it, or does not describe it at its beginning. A name that stands in the
// file by chance only means that it is sent as it is.
func composed(r io.ReaderAt) bool {
	head, err := io.ReadAll(io.NewSectionReader(r, 0, headHEIF))
	has := func(box string) bool { return bytes.Contains(head, []byte(box)) }
	return err != nil || !has("pitm") || slices.ContainsFunc([]string{"grid", "iovl", "irot", "imir"}, has)
}

// moving reports whether a WebP or a PNG has more than one frame: an ANIM or acTL chunk comes
// before them (developers.google.com, WebP Container Specification; PNG, section 11.3.6.1).
func moving(r io.ReaderAt) bool {
	head, err := io.ReadAll(io.NewSectionReader(r, 0, 4<<10))
	return err != nil || bytes.HasPrefix(head, []byte("RIFF")) && bytes.Contains(head, []byte("ANIM\x06")) ||
		bytes.HasPrefix(head, []byte("\x89PNG")) && bytes.Contains(head, []byte("acTL"))
}
