package convert

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
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

// item is one entry of the file's tables.
type item struct {
	kind    string
	of      []uint32 // the tiles of a grid
	props   []int    // from 1
	extents []extent
	inMeta  bool // extents are in the description's own data
}

// tables are the description of a HEIF file.
type tables struct {
	primary uint32
	items   map[uint32]*item
	props   []box
	data    []byte
}

type box struct {
	kind string
	body []byte
}

// boxes splits bytes into boxes. It stops at the first that does not fit.
func boxes(b []byte) (all []box) {
	for len(b) >= 8 {
		size, head := uint64(binary.BigEndian.Uint32(b)), uint64(8)
		switch {
		case size == 1 && len(b) >= 16:
			size, head = binary.BigEndian.Uint64(b[8:]), 16
		case size == 0:
			size = uint64(len(b))
		}
		if size < head || size > uint64(len(b)) {
			break
		}
		all = append(all, box{string(b[4:8]), b[head:size]})
		b = b[size:]
	}
	return all
}

// fields reads numbers from the front of bytes; bad says that there were too few.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) number(size int) (n uint64) {
	if size > len(f.b) || size > 8 {
		f.bad, f.b = true, nil
		return 0
	}
	for _, c := range f.b[:size] {
		n = n<<8 | uint64(c)
	}
	f.b = f.b[size:]
	return n
}

// wide reads a number of four bytes, or of two.
func (f *fields) wide(four bool) uint32 {
	if four {
		return uint32(f.number(4))
	}
	return uint32(f.number(2))
}

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

func tablesOf(meta []byte) *tables {
	t := &tables{items: map[uint32]*item{}}
	for _, b := range boxes(meta) {
		f := &fields{b: b.body}
		switch b.kind {
		case "pitm":
			t.primary = f.wide(f.number(4)>>24 > 0)
		case "iinf":
			t.kinds(f)
		case "iref":
			t.references(f)
		case "iprp":
			t.properties(b.body)
		case "iloc":
			t.places(f)
		case "idat":
			t.data = b.body
		}
	}
	return t
}

func (t *tables) item(id uint32) *item {
	if t.items[id] == nil {
		if len(t.items) > 4*heicTiles {
			return &item{}
		}
		t.items[id] = &item{}
	}
	return t.items[id]
}

func (t *tables) kinds(f *fields) {
	f.wide(f.number(4)>>24 > 0)
	for _, b := range boxes(f.b) {
		e := &fields{b: b.body}
		version := e.number(4) >> 24
		id := e.wide(version > 2)
		e.number(2)
		if kind := e.number(4); b.kind == "infe" && version >= 2 && !e.bad {
			t.item(id).kind = string(binary.BigEndian.AppendUint32(nil, uint32(kind)))
		}
	}
}

func (t *tables) references(f *fields) {
	four := f.number(4)>>24 > 0
	for _, b := range boxes(f.b) {
		e := &fields{b: b.body}
		from, n := e.wide(four), e.number(2)
		for range n {
			if to := e.wide(four); b.kind == "dimg" && !e.bad && n <= heicTiles {
				t.item(from).of = append(t.item(from).of, to)
			}
		}
	}
}

func (t *tables) properties(body []byte) {
	for _, b := range boxes(body) {
		if b.kind == "ipco" {
			t.props = boxes(b.body)
			continue
		}
		f := &fields{b: b.body}
		flags := f.number(4)
		for n := f.number(4); b.kind == "ipma" && n > 0 && !f.bad; n-- {
			it := t.item(f.wide(flags>>24 > 0))
			for range f.number(1) {
				if flags&1 > 0 {
					it.props = append(it.props, int(f.number(2)&0x7fff))
				} else {
					it.props = append(it.props, int(f.number(1)&0x7f))
				}
			}
		}
	}
}

func (t *tables) places(f *fields) {
	version := f.number(4) >> 24
	sizes := int(f.number(2))
	offset, length, base, index := sizes>>12, sizes>>8&15, sizes>>4&15, sizes&15
	for n := f.wide(version > 1); n > 0 && !f.bad; n-- {
		it := t.item(f.wide(version > 1))
		if version > 0 {
			it.inMeta = f.number(2)&15 != 0
		}
		f.number(2)
		start := f.number(base)
		for range f.number(2) {
			if version > 0 {
				f.number(index)
			}
			at := start + f.number(offset)
			if size := f.number(length); !f.bad && len(it.extents) < 64 {
				it.extents = append(it.extents, extent{int64(at), int64(size)})
			}
		}
	}
}

// prop is the number of an item's property of a kind, from 1; 0: it has none.
func (t *tables) prop(it *item, kind string) int {
	i := slices.IndexFunc(it.props, func(p int) bool { return p > 0 && p <= len(t.props) && t.props[p-1].kind == kind })
	if i < 0 {
		return 0
	}
	return it.props[i]
}

func (t *tables) body(it *item, kind string) []byte {
	if p := t.prop(it, kind); p > 0 {
		return t.props[p-1].body
	}
	return nil
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
