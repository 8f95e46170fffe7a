package convert

import (
	"encoding/binary"
	"slices"
)

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
