package remote

import "time"

// Limits bound what comes to a door. A bound that is zero is the default.
type Limits struct {
	Fields     int64         // bytes of a call without its file
	Buffer     int64         // bytes of a file in a call, decoded
	Uploads    int           // of a group, that are not whole
	UploadFor  time.Duration // how long an upload is kept after its last byte
	Header     int           // bytes of a request before its body
	HeaderTime time.Duration // how long they may take
	Pace       int64         // bytes a second of the slowest body
	Grace      time.Duration // how far a body may fall behind that
	Group      int           // connections of a group
	Strangers  int           // connections that have shown no token
}

// The defaults.
const (
	maxFields    = 64 << 10
	maxBuffer    = 20 << 20
	maxUploads   = 4
	uploadFor    = 24 * time.Hour
	headerSize   = 16 << 10
	headerTime   = 10 * time.Second
	minPace      = 16 << 10
	paceGrace    = 30 * time.Second
	maxGuests    = 64
	maxStrangers = 512
)

// DefaultLimits are the bounds of a door that has no others.
func DefaultLimits() Limits {
	return Limits{Fields: maxFields, Buffer: maxBuffer, Uploads: maxUploads, UploadFor: uploadFor, Header: headerSize, HeaderTime: headerTime,
		Pace: minPace, Grace: paceGrace, Group: maxGuests, Strangers: maxStrangers}
}

// filled has the defaults in place of what is zero.
func (l Limits) filled() Limits {
	all := DefaultLimits()
	fill(&all.Fields, l.Fields)
	fill(&all.Buffer, l.Buffer)
	fill(&all.Uploads, l.Uploads)
	fill(&all.UploadFor, l.UploadFor)
	fill(&all.Header, l.Header)
	fill(&all.HeaderTime, l.HeaderTime)
	fill(&all.Pace, l.Pace)
	fill(&all.Grace, l.Grace)
	fill(&all.Group, l.Group)
	fill(&all.Strangers, l.Strangers)
	return all
}

func fill[T int | int64 | time.Duration](to *T, with T) {
	if with > 0 {
		*to = with
	}
}

// largest is the size of a call that carries its file in base64.
func (l Limits) largest() int64 { return l.Fields + l.Buffer/3*4 + 4 }

// pacer says by when the next bytes of a body must have come. A body that came fast has no
// more time than any other: it may fall behind by the grace, never by more.
type pacer struct {
	limits Limits
	due    time.Time
}

func (l Limits) pacer() pacer { return pacer{l, time.Now().Add(l.Grace)} }

// moved takes note of n bytes.
func (p *pacer) moved(n int) {
	p.due = p.due.Add(time.Duration(n) * time.Second / time.Duration(p.limits.Pace))
	if latest := time.Now().Add(p.limits.Grace); p.due.After(latest) {
		p.due = latest
	}
}
