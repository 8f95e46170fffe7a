package convert

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds of a HEIC picture. Phones' pictures of 48 megapixels have 192 tiles.
const (
	heicMeta   = 1 << 20  // bytes of its description
	heicTiles  = 1024     //
	heicTile   = 16 << 20 // bytes of one tile
	heicPixels = 200 << 20
)

// errHEIC is the error of a HEIC picture that is broken, or composed in another way than
// phones do it.
var errHEIC = errors.New("not a picture of HEVC tiles")

// heic is a picture of one HEVC image, or of a grid of them (ISO/IEC 23008-12), as far as it
// takes to make a stream of its tiles that ffmpeg reads, whatever its version.
type heic struct {
	columns, rows int
	width, height int
	turns         int // quarter turns, against the clock
	prefix        int // bytes that a unit's length takes
	config        [][]byte
	tiles         [][]extent
}

// extent is a part of an item's bytes in the file.
type extent struct{ at, size int64 }

// readHEIC reads what a file of that size says of its picture.
func readHEIC(r io.ReaderAt, size int64) (*heic, error) {
	meta, err := metaOf(r, size)
	if err != nil {
		return nil, err
	}
	t := tablesOf(meta)
	primary := t.items[t.primary]
	if primary == nil {
		return nil, errHEIC
	}
	h := &heic{columns: 1, rows: 1}
	tiles := []*item{primary}
	if primary.kind == "grid" {
		if tiles, err = h.grid(t, primary); err != nil {
			return nil, err
		}
	}
	total := int64(0)
	for _, tile := range tiles {
		if tile == nil || tile.kind != "hvc1" || tile.inMeta || t.prop(tile, "hvcC") != t.prop(tiles[0], "hvcC") || len(tile.extents) == 0 {
			return nil, errHEIC
		}
		for _, e := range tile.extents {
			if total += e.size; e.at < 0 || e.size < 0 || e.at > size || total > size {
				return nil, errHEIC
			}
		}
		h.tiles = append(h.tiles, tile.extents)
	}
	if err := h.configure(t, tiles[0]); err != nil {
		return nil, err
	}
	return h, h.shape(t, primary, tiles[0])
}

// metaOf finds the description among the file's first boxes.
func metaOf(r io.ReaderAt, size int64) ([]byte, error) {
	for at, n := int64(0), 0; at+8 <= size && n < 16; n++ {
		var head [8]byte
		if _, err := r.ReadAt(head[:], at); err != nil {
			return nil, err
		}
		length := int64(binary.BigEndian.Uint32(head[:]))
		if length < 8 {
			return nil, errHEIC
		}
		if string(head[4:]) == "meta" {
			if length < 12 || length > heicMeta || at+length > size {
				return nil, errHEIC
			}
			b := make([]byte, length-12)
			_, err := r.ReadAt(b, at+12)
			return b, err
		}
		at += length
	}
	return nil, errHEIC
}

// grid reads how many tiles stand beside and below one another.
func (h *heic) grid(t *tables, g *item) (tiles []*item, err error) {
	if !g.inMeta || len(g.extents) != 1 || g.extents[0].at < 0 || g.extents[0].at > int64(len(t.data)) {
		return nil, errHEIC
	}
	f := &fields{b: t.data[g.extents[0].at:]}
	f.number(1)
	wide := 2
	if f.number(1)&1 > 0 {
		wide = 4
	}
	h.rows, h.columns = int(f.number(1))+1, int(f.number(1))+1
	h.width, h.height = int(f.number(wide)), int(f.number(wide))
	if f.bad || len(g.of) != h.rows*h.columns || len(g.of) > heicTiles {
		return nil, errHEIC
	}
	for _, id := range g.of {
		tiles = append(tiles, t.items[id])
	}
	return tiles, nil
}

// configure reads the decoder's parameter sets (ISO/IEC 14496-15, 8.3.3.1).
func (h *heic) configure(t *tables, tile *item) error {
	f := &fields{b: t.body(tile, "hvcC")}
	for range 21 {
		f.number(1)
	}
	h.prefix = int(f.number(1)&3) + 1
	for range f.number(1) {
		f.number(1)
		for range f.number(2) {
			size := int(f.number(2))
			if f.bad || size > len(f.b) {
				return errHEIC
			}
			h.config = append(h.config, f.b[:size])
			f.b = f.b[size:]
		}
	}
	if f.bad || len(h.config) == 0 {
		return errHEIC
	}
	return nil
}

// shape reads the size and the turn of the whole. What else changes how it looks is not
// understood.
func (h *heic) shape(t *tables, whole, tile *item) error {
	size := func(it *item) (int, int) {
		f := &fields{b: t.body(it, "ispe")}
		f.number(4)
		return int(f.number(4)), int(f.number(4))
	}
	w, ht := size(tile)
	if h.columns*h.rows == 1 && h.width == 0 {
		h.width, h.height = w, ht
	}
	for _, other := range []string{"imir", "clap"} {
		if t.prop(whole, other) > 0 || t.prop(tile, other) > 0 {
			return errHEIC
		}
	}
	if turn := t.body(whole, "irot"); len(turn) > 0 {
		h.turns = int(turn[0] & 3)
	}
	if h.width < 1 || h.height < 1 || w > 1<<15 || ht > 1<<15 || h.width > w*h.columns || h.height > ht*h.rows || w*h.columns*ht*h.rows > heicPixels {
		return errHEIC
	}
	return nil
}

// filter makes the whole of the tiles, for ffmpeg.
func (h *heic) filter() string {
	f := ""
	if h.columns*h.rows > 1 {
		f = fmt.Sprintf("tile=%dx%d,", h.columns, h.rows)
	}
	return f + fmt.Sprintf("crop=%d:%d:0:0,", h.width, h.height) + []string{"", "transpose=cclock,", "hflip,vflip,", "transpose=clock,"}[h.turns]
}

// stream writes the tiles as a stream of HEVC, with start codes (ITU-T H.265, annex B), in
// at most room bytes.
func (h *heic) stream(w io.Writer, r io.ReaderAt, room int64) error {
	out := bufio.NewWriter(w)
	unit := func(b []byte) {
		if room -= int64(len(b)) + 4; room >= 0 {
			_, _ = out.WriteString("\x00\x00\x00\x01") // Flush has the error
			_, _ = out.Write(b)
		}
	}
	for _, set := range h.config {
		unit(set)
	}
	for _, tile := range h.tiles {
		var data []byte
		for _, e := range tile {
			if e.size > heicTile-int64(len(data)) {
				return errHEIC
			}
			part := make([]byte, e.size)
			if n, err := r.ReadAt(part, e.at); n < len(part) {
				return fmt.Errorf("read a tile: %w", err)
			}
			data = append(data, part...)
		}
		for f := (&fields{b: data}); len(f.b) > 0; {
			size := f.number(h.prefix)
			if f.bad || size > uint64(len(f.b)) {
				return errHEIC
			}
			unit(f.b[:size])
			f.b = f.b[size:]
		}
	}
	if room < 0 {
		return errHEIC
	}
	return out.Flush()
}
