package screen

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"iter"
)

// Bounds of what is read of an archive to know its names.
const (
	maxDirectory = 1 << 20  // bytes of a zip's directory
	maxPacked    = 4 << 20  // bytes of a compressed tar
	maxTar       = 16 << 20 // bytes of a tar, without the files that are skipped
	maxMembers   = 10_000
)

// members are the names in a zip, a tar or a tar.gz, up to the bounds. A damaged archive
// has those before the damage. Archives in an archive are not opened.
func members(r io.ReaderAt, size int64, text []byte) iter.Seq[string] {
	switch {
	case bytes.HasPrefix(text, []byte("PK")):
		return zipNames(r, size)
	case len(text) > 262 && string(text[257:262]) == "ustar":
		return tarNames(&bounded{io.NewSectionReader(r, 0, size), maxTar})
	case bytes.HasPrefix(text, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(io.NewSectionReader(r, 0, min(size, maxPacked)))
		if err == nil {
			return tarNames(io.LimitReader(z, maxTar))
		}
	}
	return func(func(string) bool) {}
}

// bounded reads so many bytes and then no more. Those that are skipped do not count.
type bounded struct {
	io.ReadSeeker
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.ReadSeeker.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func tarNames(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := tar.NewReader(r)
		for range maxMembers {
			h, err := t.Next()
			if err != nil || !yield(h.Name) {
				return
			}
		}
	}
}

// zipNames reads the directory at the end of a zip itself: archive/zip makes room for as many
// files as the file claims. The directory stands before its end record, whatever stands before it
// (APPNOTE.TXT 4.3.12 and 4.3.16).
func zipNames(r io.ReaderAt, size int64) iter.Seq[string] {
	return func(yield func(string) bool) {
		end := make([]byte, min(size, 22+1<<16))
		if readAt(r, end, size-int64(len(end))) != nil {
			return
		}
		at := bytes.LastIndex(end, []byte("PK\x05\x06"))
		if at < 0 || len(end)-at < 22 {
			return
		}
		length := int64(binary.LittleEndian.Uint32(end[at+12:]))
		start := size - int64(len(end)-at) - length
		if start < 0 {
			return
		}
		dir := make([]byte, min(length, maxDirectory))
		if readAt(r, dir, start) != nil {
			return
		}
		for len(dir) >= 46 && bytes.HasPrefix(dir, []byte("PK\x01\x02")) {
			name := int(binary.LittleEndian.Uint16(dir[28:]))
			next := 46 + name + int(binary.LittleEndian.Uint16(dir[30:])) + int(binary.LittleEndian.Uint16(dir[32:]))
			if 46+name > len(dir) || !yield(string(dir[46:46+name])) || next > len(dir) {
				return
			}
			dir = dir[next:]
		}
	}
}
