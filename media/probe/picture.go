package probe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	_ "image/gif" // a decoder for image.Decode, as image/png is
	"image/jpeg"
	_ "image/png"
	"io"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// A picture gets a thumbnail only if decoding it needs at most decodeBudget bytes: a
// picture of 439 KB can need 381 MB. A Prober decodes one picture at a time.
const (
	decodeBudget  = 64 << 20
	thumbnailEdge = 100 // pixels; about the size of those that WhatsApp's apps make
	maxThumbnail  = 16 << 10
)

// image reads a JPEG, PNG or GIF. Width, height and thumbnail are those of the
// picture as it is shown; a phone stores it as its sensor was held.
func (p *Prober) image(r io.ReadSeeker) Facts {
	config, format, err := image.DecodeConfig(bufio.NewReader(r))
	if err != nil || config.Width <= 0 || config.Height <= 0 {
		return Facts{}
	}
	f := Facts{Width: uint32(config.Width), Height: uint32(config.Height)}
	orientation := Upright
	if format == "jpeg" {
		orientation = Orientation(r)
	}
	if Sideways(orientation) {
		f.Width, f.Height = f.Height, f.Width
	}
	if format == "webp" || decodeCost(config, format, r) > decodeBudget { // a WebP's canvas does not show how much decoding needs
		return f
	}
	p.decoding.Lock()
	defer p.decoding.Unlock()
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return f
	}
	if img, _, err := image.Decode(bufio.NewReader(r)); err == nil {
		f.Thumbnail = thumbnail(img, orientation)
	}
	return f
}

// decodeCost estimates how many bytes the standard library allocates to decode a
// picture.
func decodeCost(c image.Config, format string, r io.ReadSeeker) int64 {
	pixels := int64(c.Width) * int64(c.Height)
	if pixels > decodeBudget {
		return pixels
	}
	switch {
	case format == "jpeg" && progressive(r):
		return pixels * 3 * 5 // planes, and four bytes for each coefficient
	case format == "jpeg":
		return pixels * 3
	case c.ColorModel == color.RGBA64Model || c.ColorModel == color.NRGBA64Model:
		return pixels * 8
	}
	return pixels * 4
}

// progressive reports whether a JPEG is progressive; an unreadable one counts as
// progressive.
func progressive(r io.ReadSeeker) bool {
	if _, err := r.Seek(2, io.SeekStart); err != nil {
		return true
	}
	var head [4]byte
	for range 1000 { // segments
		if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0xFF {
			return true
		}
		switch head[1] {
		case 0xC0, 0xC1:
			return false
		case 0xC2:
			return true
		}
		n := int64(binary.BigEndian.Uint16(head[2:]))
		if n < 2 {
			return true
		}
		if _, err := r.Seek(n-2, io.SeekCurrent); err != nil {
			return true
		}
	}
	return true
}

// thumbnail returns a small JPEG of img, turned by its orientation, or nil.
func thumbnail(img image.Image, orientation int) []byte {
	b := img.Bounds()
	if b.Empty() {
		return nil
	}
	w, h := thumbnailEdge, thumbnailEdge
	if b.Dx() > b.Dy() {
		h = max(1, b.Dy()*thumbnailEdge/b.Dx())
	} else {
		w = max(1, b.Dx()*thumbnailEdge/b.Dy())
	}
	small := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(small, small.Bounds(), image.White, image.Point{}, draw.Src) // behind transparent parts
	draw.ApproxBiLinear.Scale(small, small.Bounds(), img, b, draw.Over, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, turned(small, orientation), &jpeg.Options{Quality: 70}); err != nil {
		return nil
	}
	return out.Bytes()
}

// turned returns a picture as its EXIF orientation asks to show it.
func turned(src *image.RGBA, orientation int) *image.RGBA {
	w, h := src.Rect.Dx(), src.Rect.Dy()
	from := map[int]func(x, y int) (int, int){
		2: func(x, y int) (int, int) { return w - 1 - x, y },
		3: func(x, y int) (int, int) { return w - 1 - x, h - 1 - y },
		4: func(x, y int) (int, int) { return x, h - 1 - y },
		5: func(x, y int) (int, int) { return y, x },
		6: func(x, y int) (int, int) { return y, h - 1 - x },
		7: func(x, y int) (int, int) { return w - 1 - y, h - 1 - x },
		8: func(x, y int) (int, int) { return w - 1 - y, x },
	}[orientation]
	if from == nil {
		return src
	}
	dst := image.NewRGBA(image.Rect(0, 0, w, h))
	if Sideways(orientation) {
		dst = image.NewRGBA(image.Rect(0, 0, h, w))
	}
	for y := range dst.Rect.Dy() {
		for x := range dst.Rect.Dx() {
			sx, sy := from(x, y)
			dst.SetRGBA(x, y, src.RGBAAt(sx, sy))
		}
	}
	return dst
}

// checkedThumbnail returns a tool's output if it is a small JPEG, else nil.
func checkedThumbnail(b []byte) []byte {
	if len(b) == 0 || len(b) > maxThumbnail {
		return nil
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil || format != "jpeg" || c.Width > 4*thumbnailEdge || c.Height > 4*thumbnailEdge {
		return nil
	}
	return b
}

// webpSize reads a WebP's canvas. The extended header (VP8X) says whether the
// picture is animated; see
// https://developers.google.com/speed/webp/docs/riff_container.
func webpSize(r io.ReadSeeker) (width, height uint32, animated bool) {
	var head [30]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "RIFF" || string(head[8:12]) != "WEBP" {
		return 0, 0, false
	}
	if string(head[12:16]) == "VP8X" {
		u24 := func(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
		return u24(head[24:]) + 1, u24(head[27:]) + 1, head[20]&2 != 0
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0, 0, false
	}
	c, err := webp.DecodeConfig(r)
	if err != nil {
		return 0, 0, false
	}
	return uint32(c.Width), uint32(c.Height), false
}
