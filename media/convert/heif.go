package convert

import (
	"bytes"
	"io"
	"slices"
)

// Partly reports whether ffmpeg would make a part of a picture into the whole: the
// first page of a TIFF, or one tile of a phone's HEIC. mime is the picture's type.
func Partly(r io.ReaderAt, mime string) bool {
	switch mime {
	case "image/tiff":
		return ManyPages(r)
	case "image/heic", "image/heif", "image/avif":
		return composed(r)
	}
	return false
}

// headHEIF is how much of a HEIF file is searched for its description, in bytes.
const headHEIF = 1 << 20

// composed reports whether a HEIF file (ISO/IEC 23008-12) puts its picture together of
// tiles, as phones do, or turns it, or does not describe it at its beginning. ffmpeg
// before 7 reads neither tiles nor turns, and later ones need other arguments for them.
// A name that stands in the file by chance only means that it is sent as it is.
func composed(r io.ReaderAt) bool {
	head, err := io.ReadAll(io.NewSectionReader(r, 0, headHEIF))
	has := func(box string) bool { return bytes.Contains(head, []byte(box)) }
	return err != nil || !has("pitm") || slices.ContainsFunc([]string{"grid", "iovl", "irot", "imir"}, has)
}
