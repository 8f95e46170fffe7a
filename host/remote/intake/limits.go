// Package intake bounds what callers send: how much, how fast, and how much of a group at the
// same time.
package intake

import (
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

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

// DefaultLimits are the bounds where no others are set.
func DefaultLimits() Limits { return Limits{}.Filled() }

// Filled returns l with the defaults in place of what is zero.
func (l Limits) Filled() Limits {
	return Limits{
		Fields:     cmp.Or(l.Fields, 64<<10),
		Buffer:     cmp.Or(l.Buffer, 20<<20),
		Uploads:    cmp.Or(l.Uploads, 4),
		UploadFor:  cmp.Or(l.UploadFor, 24*time.Hour),
		Header:     cmp.Or(l.Header, 16<<10),
		HeaderTime: cmp.Or(l.HeaderTime, 10*time.Second),
		Speed:      cmp.Or(l.Speed, 16<<10),
		Grace:      cmp.Or(l.Grace, 30*time.Second),
		Calls:      cmp.Or(l.Calls, 1_000_000), // five weeks at the usual rate of sends
		Group:      cmp.Or(l.Group, 64),
		Strangers:  cmp.Or(l.Strangers, 512),
	}
}

// Largest is the size of a call that carries its file in base64.
func (l Limits) Largest() int64 { return l.Fields + l.Buffer/3*4 + 4 }

// Least is the least speed of bodies, and of those who read answers.
func (l Limits) Least() httpd.Speed { return httpd.Speed{PerSecond: l.Speed, Grace: l.Grace} }

// Body returns the body of a request, of at most that many bytes. It fails if they come too slowly.
func (l Limits) Body(rw http.ResponseWriter, r *http.Request, most int64) io.Reader {
	return httpd.Body(rw, r, most, l.Least())
}
