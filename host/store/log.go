package store

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// checkLog returns an *Error if the log of a database that no process has open has lost commits. SQLite says nothing
// of it: it ignores a log without a valid header, and all frames behind the first whose checksum is wrong
// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log). A power loss may leave both in what was not synced:
//
//   - SQLite syncs a header before it writes the first frame behind it, and begins a log anew only when the database
//     has all of the old one, and is synced. So no frame is behind a torn header, or frames that the database has.
//   - With synchronous=FULL each commit is synced before the next one is written. So a torn one is the last: behind it
//     may lie frames of a write that had failed, but no commit whose checksums go on from another one's.
func (s Spec) checkLog() error {
	file, err := os.Open(s.path() + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.unreadable(err)
	}
	defer file.Close()
	db, err := os.Open(s.path())
	if err != nil {
		return s.unreadable(err)
	}
	defer db.Close()
	l := sqliteLog{in: bufio.NewReaderSize(file, 1<<20)}
	damage := ""
	switch headed := l.begin(db); {
	case l.err != nil:
	case !headed && !l.folded(file, db):
		damage = "its header is not valid, and the database lacks what follows"
	case headed && slices.Contains(s.Pragmas, "synchronous(FULL)") && l.gap():
		damage = "a place in the middle of it was changed"
	}
	if damage != "" {
		return s.damaged(fmt.Errorf("its log, %s-wal, would be ignored: %s", s.File, damage))
	}
	if l.err != nil && !errors.Is(l.err, io.EOF) && !errors.Is(l.err, io.ErrUnexpectedEOF) {
		return s.unreadable(l.err)
	}
	return nil
}

// sqliteLog reads the frames of a log, one after the other.
type sqliteLog struct {
	in    *bufio.Reader
	order binary.ByteOrder // of the checksums
	salts [8]byte          // of the frames that belong to the header
	sum   [8]byte          // which stands in the frame before, or in the header

	frame   []byte // page number, pages after the commit or 0, salts, checksum; then the page
	at      int64
	follows bool  // the frame's checksum goes on from the one before
	commit  bool  // the frame is the last one of a commit, and belongs to the header
	err     error // why there is no further frame
}

const logHead, frameHead = 32, 24

// begin reads the header, and reports whether it is valid.
func (l *sqliteLog) begin(db io.ReaderAt) (valid bool) {
	head, size := make([]byte, logHead), make([]byte, 2)
	if _, l.err = io.ReadFull(l.in, head); l.err == nil {
		_, l.err = db.ReadAt(size, 16)
	}
	page := int(binary.BigEndian.Uint16(size))
	if page == 1 { // https://www.sqlite.org/fileformat2.html#page_size
		page = 1 << 16
	}
	l.order, l.at, l.frame = binary.LittleEndian, logHead, make([]byte, frameHead+page)
	if head[3]&1 == 1 && head[0] != 0 {
		l.order = binary.BigEndian
	}
	l.salts, l.sum = [8]byte(head[16:]), [8]byte(head[24:])
	magic := binary.BigEndian.Uint32(head) &^ 1
	if magic == 0x377f0682 && l.add([8]byte{}, head[:24]) == l.sum {
		return true
	}
	if next, err := l.in.Peek(frameHead); err == nil {
		l.salts = [8]byte(next[8:])
	}
	return false
}

// add continues a checksum.
func (l *sqliteLog) add(sum [8]byte, data []byte) [8]byte {
	a, b := binary.BigEndian.Uint32(sum[:]), binary.BigEndian.Uint32(sum[4:])
	for ; len(data) >= 8; data = data[8:] {
		a += l.order.Uint32(data) + b
		b += l.order.Uint32(data[4:]) + a
	}
	binary.BigEndian.PutUint32(sum[:], a)
	binary.BigEndian.PutUint32(sum[4:], b)
	return sum
}

func (l *sqliteLog) next() bool {
	if l.follows, l.commit = false, false; l.err != nil {
		return false
	}
	if _, l.err = io.ReadFull(l.in, l.frame); l.err != nil {
		return false
	}
	l.at += int64(len(l.frame))
	own, sum := [8]byte(l.frame[8:]) == l.salts, [8]byte(l.frame[16:])
	l.follows = own && l.add(l.add(l.sum, l.frame[:8]), l.frame[frameHead:]) == sum
	l.commit, l.sum = own && binary.BigEndian.Uint32(l.frame[4:]) > 0, sum
	return true
}

// folded reports whether a database has the pages of all commits of a log without a header.
func (l *sqliteLog) folded(log, db io.ReaderAt) bool {
	pages, written, size := map[int64]int64{}, map[int64]int64{}, int64(0)
	for first := true; l.next() && (l.follows || first); first = false { // what the first one continues was in the header
		page := int64(binary.BigEndian.Uint32(l.frame))
		if written[page] = l.at - int64(len(l.frame)) + frameHead; l.commit {
			maps.Copy(pages, written)
			size = int64(binary.BigEndian.Uint32(l.frame[4:]))
		}
	}
	page, other := int64(len(l.frame)-frameHead), make([]byte, len(l.frame)-frameHead)
	for number, at := range pages {
		if number > size {
			continue
		}
		_, err := log.ReadAt(l.frame[frameHead:], at)
		if _, failed := db.ReadAt(other, (number-1)*page); err != nil || failed != nil || !bytes.Equal(l.frame[frameHead:], other) {
			return false
		}
	}
	return size > 0
}

// gap reports whether two commits lie behind a frame that SQLite takes for the end, of which the second goes on from the first.
func (l *sqliteLog) gap() bool {
	ended, after := false, false // after: a commit is there that may be the torn one
	for l.next() {
		switch {
		case !ended && l.follows:
		case after && l.follows && l.commit:
			return true
		case !after || !l.follows:
			ended, after = true, l.commit
		}
	}
	return false
}
