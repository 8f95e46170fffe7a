package sample

import (
	"fmt"
	"time"
)

const (
	left   = 48.0
	right  = pageWidth - 48
	reader = right - left // the width of the text
)

// palette holds the colours of page and chart.
type palette struct{ navy, blue, pale, amber, ink, grey, rule, white rgb }

func colours() palette {
	return palette{
		navy:  rgb{0.067, 0.149, 0.259},
		blue:  rgb{0.145, 0.420, 0.690},
		pale:  rgb{0.945, 0.961, 0.980},
		amber: rgb{0.851, 0.467, 0.024},
		ink:   rgb{0.129, 0.161, 0.208},
		grey:  rgb{0.420, 0.463, 0.522},
		rule:  rgb{0.855, 0.878, 0.906},
		white: rgb{1, 1, 1},
	}
}

// pdf returns the report as a PDF of one page.
func (r report) pdf() []byte {
	const title = "Harbour week"
	c := colours()
	p := newPage(c, title, r.span(), r.made)
	r.drawFigures(p, c, pageHeight-206)
	r.drawChart(p, c, pageHeight-470)
	r.drawTable(p, c, pageHeight-500)
	return encodePDF(p, title, r.made)
}

// welcome returns a page that lists what members can ask for.
func welcome(all []skill, made time.Time) []byte {
	const title, row = "What I can do", 30.0
	c := colours()
	p := newPage(c, title, "Longshore's sample assistant", made)
	y := pageHeight - 170.0
	p.text(left, y, 13, bold, c.navy, "Write this")
	p.text(left+210, y, 13, bold, c.navy, "and this comes")
	for i, s := range all {
		y -= row
		if i%2 == 0 {
			p.rect(left, y-10, reader, row, c.pale)
		}
		p.text(left+12, y, 11, bold, c.ink, s.words)
		p.text(left+210, y, 11, regular, c.ink, s.comes)
	}
	return encodePDF(p, title, made)
}

// newPage returns a page with its head and foot.
func newPage(c palette, title, below string, made time.Time) *page {
	p := &page{}
	p.rect(0, pageHeight-118, pageWidth, 118, c.navy)
	p.rect(0, pageHeight-122, pageWidth, 4, c.amber)
	p.text(left, pageHeight-64, 28, bold, c.white, title)
	p.text(left, pageHeight-88, 12, regular, rgb{0.78, 0.84, 0.91}, below)
	p.textRight(right, pageHeight-88, 10, rgb{0.78, 0.84, 0.91}, "Made "+made.Format("2 January 2006, 15:04"))
	p.line(left, 58, right, 58, 0.6, 0, c.rule)
	p.text(left, 42, 8.5, regular, c.grey, "Made by Longshore's sample assistant. The figures are invented; the way this file took is not.")
	p.textRight(right, 42, 8.5, c.grey, "1 / 1")
	return p
}

// drawFigures draws the three boxes below the title; y is their lower edge.
func (r report) drawFigures(p *page, c palette, y float64) {
	figures := []struct{ value, label string }{
		{thousands(r.boxes()), "containers unloaded"},
		{fmt.Sprint(r.ships()), "ships alongside"},
		{hours(r.wait()), "mean wait at anchor"},
	}
	const gap = 14
	w := (reader - 2*gap) / 3
	for i, f := range figures {
		x := left + float64(i)*(w+gap)
		p.rect(x, y, w, 62, c.pale)
		p.rect(x, y, 3, 62, c.blue)
		p.text(x+16, y+31, 20, bold, c.navy, f.value)
		p.text(x+16, y+14, 9.5, regular, c.grey, f.label)
	}
}

// drawChart draws a bar for each day and the goal across them; y is the lower edge.
func (r report) drawChart(p *page, c palette, y float64) {
	const height = 176.0
	base := y + 24
	p.text(left, base+height+32, 13, bold, c.navy, "Containers unloaded a day")
	x0, top := left+28, float64(r.top())
	for mark := 0; mark <= r.top(); mark += 100 {
		my := base + height*float64(mark)/top
		p.line(x0, my, right, my, 0.5, 0, c.rule)
		p.textRight(x0-7, my-3, 8.5, c.grey, fmt.Sprint(mark))
	}
	step := (right - x0) / float64(len(r.days))
	for i, d := range r.days {
		mid := x0 + step*(float64(i)+0.5)
		h := height * float64(d.boxes) / top
		fill := c.blue
		if d.boxes < r.goal {
			fill = rgb{0.576, 0.714, 0.847}
		}
		p.rect(mid-step*0.29, base, step*0.58, h, fill)
		p.textCentre(mid, base+h+5, 9, c.ink, fmt.Sprint(d.boxes))
		p.textCentre(mid, base-14, 9, c.grey, d.date.Format("Mon 2"))
	}
	goal := base + height*float64(r.goal)/top
	p.line(x0, goal, right, goal, 1.1, 4, c.amber)
	p.textRight(right, base+height+32, 9, c.amber, fmt.Sprintf("- -  goal: %d", r.goal))
}

// drawTable draws a row for each day and the sum; y is the upper edge.
func (r report) drawTable(p *page, c palette, y float64) {
	const row = 23.0
	columns := [...]float64{left + 238, left + 340, right - 12}
	p.rect(left, y-row, reader, row, c.navy)
	p.text(left+12, y-row+7.5, 10, bold, c.white, "Day")
	for i, head := range []string{"Containers", "Ships", "Mean wait"} {
		p.textRight(columns[i], y-row+7.5, 10, c.white, head)
	}
	y -= row
	write := func(name string, f typeface, cells ...string) {
		p.text(left+12, y-row+7.5, 10, f, c.ink, name)
		for i, cell := range cells {
			p.textRight(columns[i], y-row+7.5, 10, c.ink, cell)
		}
		y -= row
	}
	for i, d := range r.days {
		if i%2 == 1 {
			p.rect(left, y-row, reader, row, c.pale)
		}
		write(d.date.Format("Monday, 2 January"), regular, fmt.Sprint(d.boxes), fmt.Sprint(d.ships), hours(d.wait))
	}
	p.line(left, y, right, y, 1, 0, c.navy)
	write("Week", bold, thousands(r.boxes()), fmt.Sprint(r.ships()), hours(r.wait()))
}
