// Package intake bounds what callers send: how much, how fast, and how much of a group at the
// same time.
package intake

import "time"

// Limits bound what comes. A bound that is zero is the default.
type Limits struct {
	Fields     int64         // bytes of a call without its file
	Buffer     int64         // bytes of a file in a call, decoded
	Uploads    int           // of a group, that are not whole
	UploadFor  time.Duration // how long an upload is kept after its last byte
	Header     int           // bytes of a request before its body
	HeaderTime time.Duration // how long they may take
	Speed      int64         // bytes a second of the slowest body
	Grace      time.Duration // how far a body may fall behind that
	Calls      int           // of a group that are recorded
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
	minSpeed     = 16 << 10
	paceGrace    = 30 * time.Second
	maxCalls     = 1_000_000 // five weeks at the usual rate of sends
	maxGuests    = 64
	maxStrangers = 512
)

// DefaultLimits are the bounds where no others are set.
func DefaultLimits() Limits {
	return Limits{Fields: maxFields, Buffer: maxBuffer, Uploads: maxUploads, UploadFor: uploadFor, Header: headerSize, HeaderTime: headerTime,
		Speed: minSpeed, Grace: paceGrace, Calls: maxCalls, Group: maxGuests, Strangers: maxStrangers}
}

// Filled returns l with the defaults in place of what is zero.
func (l Limits) Filled() Limits {
	all := DefaultLimits()
	fill(&all.Fields, l.Fields)
	fill(&all.Buffer, l.Buffer)
	fill(&all.Uploads, l.Uploads)
	fill(&all.UploadFor, l.UploadFor)
	fill(&all.Header, l.Header)
	fill(&all.HeaderTime, l.HeaderTime)
	fill(&all.Speed, l.Speed)
	fill(&all.Grace, l.Grace)
	fill(&all.Calls, l.Calls)
	fill(&all.Group, l.Group)
	fill(&all.Strangers, l.Strangers)
	return all
}

func fill[T int | int64 | time.Duration](to *T, with T) {
	if with > 0 {
		*to = with
	}
}

// Largest is the size of a call that carries its file in base64.
func (l Limits) Largest() int64 { return l.Fields + l.Buffer/3*4 + 4 }
