package sample

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// A4 in points, the unit of everything below; y grows upwards.
const (
	pageWidth  = 595.28
	pageHeight = 841.89
)

// typeface is the resource name of a font on a page. Both fonts belong to the
// fourteen that every PDF reader has, so none is embedded.
type typeface string

const (
	regular typeface = "F1" // Helvetica
	bold    typeface = "F2" // Helvetica-Bold
)

// rgb is a colour, each part from 0 to 1.
type rgb [3]float64

// page collects the drawing operators of one page.
type page struct{ ops bytes.Buffer }

func (p *page) rect(x, y, w, h float64, fill rgb) {
	fmt.Fprintf(&p.ops, "%.3f %.3f %.3f rg %.2f %.2f %.2f %.2f re f\n", fill[0], fill[1], fill[2], x, y, w, h)
}

// line draws a hairline of the given width; dash 0 is a solid one.
func (p *page) line(x1, y1, x2, y2, width, dash float64, stroke rgb) {
	pattern := "[] 0 d"
	if dash > 0 {
		pattern = fmt.Sprintf("[%.1f] 0 d", dash)
	}
	fmt.Fprintf(&p.ops, "%s %.3f %.3f %.3f RG %.2f w %.2f %.2f m %.2f %.2f l S\n",
		pattern, stroke[0], stroke[1], stroke[2], width, x1, y1, x2, y2)
}

// text writes one line of ASCII with its left end at x.
func (p *page) text(x, y, size float64, f typeface, fill rgb, s string) {
	fmt.Fprintf(&p.ops, "BT /%s %.2f Tf %.3f %.3f %.3f rg %.2f %.2f Td (%s) Tj ET\n",
		f, size, fill[0], fill[1], fill[2], x, y, escape(s))
}

// textRight writes one line in the regular font with its right end at x.
func (p *page) textRight(x, y, size float64, fill rgb, s string) {
	p.text(x-width(s, size), y, size, regular, fill, s)
}

// textCentre writes one line in the regular font with its middle at x.
func (p *page) textCentre(x, y, size float64, fill rgb, s string) {
	p.text(x-width(s, size)/2, y, size, regular, fill, s)
}

func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(s)
}

// width is that of s in the regular font, from Helvetica's metrics for the
// printable part of ASCII, in thousandths of the size.
func width(s string, size float64) float64 {
	widths := [...]int{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, // space to /
		556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, // 0 to ?
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, // @ to O
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, // P to _
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, // ` to o
		556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584, // p to ~
	}
	sum := 0
	for _, c := range []byte(s) {
		if c >= ' ' && int(c-' ') < len(widths) {
			sum += widths[c-' ']
		}
	}
	return float64(sum) * size / 1000
}

// encodePDF writes a document of one page. A reader finds each object by the
// byte offset that the cross-reference table gives, so the objects are written
// in order and their offsets kept.
func encodePDF(p *page, title string, made time.Time) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.2f %.2f] /Contents 4 0 R "+
			"/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>", pageWidth, pageHeight),
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", p.ops.Len(), p.ops.Bytes()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
		fmt.Sprintf("<< /Title (%s) /Producer (Longshore sample assistant) /CreationDate (D:%sZ) >>",
			escape(title), made.UTC().Format("20060102150405")),
	}
	var b bytes.Buffer
	// Bytes above 127 in the second line tell programs that copy files that this
	// file is binary.
	b.WriteString("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
	offsets := make([]int, len(objects))
	for i, object := range objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset) // an entry has exactly 20 bytes
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n",
		len(objects)+1, len(objects), table)
	return b.Bytes()
}
