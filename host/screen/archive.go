package screen

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"iter"
	"strings"
)

// Bounds of what is read of an archive to know its names.
const (
	maxDirectory = 1 << 20  // bytes of a zip's directory, from its beginning and from its end
	maxName      = 4 << 10  // bytes of a name in a zip, or of a gzip
	maxPacked    = 4 << 20  // bytes of a compressed tar
	maxTar       = 16 << 20 // bytes of a tar, without the files that are skipped
	maxMembers   = 10_000
)

// members returns the names in a zip, a gzip and a tar, up to the bounds. A file may be several of
// them: a tar has the headers of the zips in it. A damaged archive has those before the damage.
// Archives in an archive are not opened.
func members(r io.ReaderAt, size int64, text []byte) iter.Seq[string] {
	return chain(zipped(r, size, text), gzipped(r, size, text), tarNames(&bounded{io.NewSectionReader(r, 0, size), maxTar}))
}

func zipped(r io.ReaderAt, size int64, text []byte) iter.Seq[string] {
	if !bytes.Contains(text, []byte(localHeader)) && !bytes.Contains(text, []byte(dirHeader)) {
		return none
	}
	return chain(zipNames(r, size), strewn(r, size, text))
}

func gzipped(r io.ReaderAt, size int64, text []byte) iter.Seq[string] {
	if !bytes.HasPrefix(text, []byte(gzipMagic)) {
		return none
	}
	name, bare, err := bareGzip(bufio.NewReader(io.NewSectionReader(r, 0, min(size, maxPacked))))
	if err != nil {
		return none
	}
	z, err := gzip.NewReader(bare)
	if err != nil {
		return one(name)
	}
	return chain(one(name), tarNames(io.LimitReader(z, maxTar)))
}

const gzipMagic = "\x1f\x8b"

// What the header of a gzip has behind its first ten bytes (RFC 1952, 2.3.1).
const (
	hasHeaderSum = 1 << 1
	hasExtra     = 1 << 2
	hasName      = 1 << 3
	hasComment   = 1 << 4
)

// bareGzip takes the name and the comment out of a gzip's header: compress/gzip reads no file
// with 512 bytes of either, and programs unpack it. The name is cut to its last maxName bytes.
func bareGzip(r *bufio.Reader) (name string, bare io.Reader, err error) {
	head := make([]byte, 10)
	_, err = io.ReadFull(r, head)
	flags := head[3]
	head[3] = 0
	if err == nil && flags&hasExtra != 0 {
		length := make([]byte, 2)
		if _, err = io.ReadFull(r, length); err == nil {
			_, err = r.Discard(int(binary.LittleEndian.Uint16(length)))
		}
	}
	if err == nil && flags&hasName != 0 {
		name, err = r.ReadString(0)
		name = strings.TrimSuffix(name, "\x00")
	}
	if err == nil && flags&hasComment != 0 {
		_, err = r.ReadString(0)
	}
	if err == nil && flags&hasHeaderSum != 0 {
		_, err = r.Discard(2)
	}
	return name[max(0, len(name)-maxName):], io.MultiReader(bytes.NewReader(head), r), err
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

// tarNames returns the names in a tar; of another file there are none, as the checksum of its first
// block is wrong.
func tarNames(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := tar.NewReader(r)
		for range maxMembers {
			if h, err := t.Next(); err != nil || !yield(h.Name) {
				return
			}
		}
	}
}

// chain gives all of each, one after the other.
func chain(all ...iter.Seq[string]) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, names := range all {
			for name := range names {
				if !yield(name) {
					return
				}
			}
		}
	}
}

func none(func(string) bool) {}

func one(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if name != "" {
			yield(name)
		}
	}
}

// What the headers of a file begin with: before its bytes, and in a zip's directory.
const (
	localHeader = "PK\x03\x04"
	dirHeader   = "PK\x01\x02"
)

// strewn returns the names behind headers anywhere in the file's beginning and end, for the zips
// whose directory is not found but which programs unpack: with a program before them, with more than
// 65,535 files, with bytes behind them, or in another zip that does not pack them.
func strewn(r io.ReaderAt, size int64, text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		end := make([]byte, min(size, maxDirectory))
		if readAt(r, end, size-int64(len(end))) != nil {
			return
		}
		for _, b := range [][]byte{text, end} {
			for {
				at := bytes.Index(b, []byte("PK"))
				if at < 0 {
					break
				}
				b = b[at:]
				name, length := headed(b)
				if length > 0 && !yield(name) {
					return
				}
				b = b[max(length, 2):]
			}
		}
	}
}

// headed returns the name in the header that b begins with, and the length of both; 0: it
// begins with none.
func headed(b []byte) (name string, length int) {
	at, of := 30, 26
	if bytes.HasPrefix(b, []byte(dirHeader)) {
		at, of = 46, 28
	} else if !bytes.HasPrefix(b, []byte(localHeader)) {
		return "", 0
	}
	if len(b) < at {
		return "", 0
	}
	n := int(binary.LittleEndian.Uint16(b[of:]))
	if n > maxName || at+n > len(b) {
		return "", 0
	}
	return string(b[at : at+n]), at + n
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
