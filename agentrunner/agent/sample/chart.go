package sample

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The chart's size in pixels: wide enough to stay sharp on a phone.
const (
	chartWidth  = 1200
	chartHeight = 720
)

// canvas draws on an image; y grows downwards.
type canvas struct {
	img   *image.RGBA
	faces map[string]font.Face
}

func newCanvas() (*canvas, error) {
	c := &canvas{img: image.NewRGBA(image.Rect(0, 0, chartWidth, chartHeight)), faces: map[string]font.Face{}}
	draw.Draw(c.img, c.img.Bounds(), image.White, image.Point{}, draw.Src)
	for name, f := range map[string]struct {
		ttf  []byte
		size float64
	}{"title": {gobold.TTF, 38}, "label": {goregular.TTF, 24}, "value": {gobold.TTF, 26}} {
		parsed, err := opentype.Parse(f.ttf)
		if err != nil {
			return nil, fmt.Errorf("parse font: %w", err)
		}
		if c.faces[name], err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: f.size, DPI: 72, Hinting: font.HintingFull}); err != nil {
			return nil, fmt.Errorf("make font face: %w", err)
		}
	}
	return c, nil
}

func (c rgb) uniform() *image.Uniform {
	return image.NewUniform(color.RGBA{uint8(c[0] * 255), uint8(c[1] * 255), uint8(c[2] * 255), 255})
}

// bar fills a rectangle whose upper corners are round.
func (c *canvas) bar(x0, y0, x1, y1 float32, fill rgb) {
	r := min(10, (x1-x0)/2, (y1-y0)/2)
	v := vector.NewRasterizer(chartWidth, chartHeight)
	v.MoveTo(x0, y1)
	v.LineTo(x0, y0+r)
	v.QuadTo(x0, y0, x0+r, y0)
	v.LineTo(x1-r, y0)
	v.QuadTo(x1, y0, x1, y0+r)
	v.LineTo(x1, y1)
	v.ClosePath()
	v.Draw(c.img, c.img.Bounds(), fill.uniform(), image.Point{})
}

func (c *canvas) rect(x0, y0, x1, y1 int, fill rgb) {
	draw.Draw(c.img, image.Rect(x0, y0, x1, y1), fill.uniform(), image.Point{}, draw.Src)
}

// text writes s on the baseline y; align 0 puts its left end at x, 0.5 its
// middle, 1 its right end.
func (c *canvas) text(x float64, y int, align float64, face string, fill rgb, s string) {
	d := font.Drawer{Dst: c.img, Src: fill.uniform(), Face: c.faces[face]}
	x -= align * float64(d.MeasureString(s)) / 64
	d.Dot = fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.I(y)}
	d.DrawString(s)
}

// png draws the week's bars as a picture.
func (r report) png() ([]byte, error) {
	c, err := newCanvas()
	if err != nil {
		return nil, err
	}
	p := colours()
	const x0, x1, y0, y1 = 110, chartWidth - 50, 170, chartHeight - 90
	c.text(50, 76, 0, "title", p.navy, "Containers unloaded a day")
	c.text(50, 116, 0, "label", p.grey, r.span())
	at := func(boxes int) int { return y1 - (y1-y0)*boxes/r.top() }
	for mark := 0; mark <= r.top(); mark += 100 {
		c.rect(x0, at(mark)-1, x1, at(mark)+1, p.rule)
		c.text(x0-16, at(mark)+8, 1, "label", p.grey, fmt.Sprint(mark))
	}
	step := float64(x1-x0) / float64(len(r.days))
	for i, d := range r.days {
		mid := float64(x0) + step*(float64(i)+0.5)
		fill := p.blue
		if d.boxes < r.goal {
			fill = rgb{0.576, 0.714, 0.847}
		}
		c.bar(float32(mid-step*0.3), float32(at(d.boxes)), float32(mid+step*0.3), y1, fill)
		c.text(mid, at(d.boxes)-12, 0.5, "value", p.ink, fmt.Sprint(d.boxes))
		c.text(mid, y1+40, 0.5, "label", p.grey, d.date.Format("Mon 2"))
	}
	for x := x0; x < x1; x += 24 {
		c.rect(x, at(r.goal)-1, min(x+14, x1), at(r.goal)+2, p.amber)
	}
	c.text(x1, 116, 1, "label", p.amber, fmt.Sprintf("- -  goal: %d", r.goal))
	var b bytes.Buffer
	if err := png.Encode(&b, c.img); err != nil {
		return nil, fmt.Errorf("encode chart: %w", err)
	}
	return b.Bytes(), nil
}
