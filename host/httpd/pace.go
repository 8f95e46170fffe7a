package httpd

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// The slowest pace of a body: half a minute of grace, then 8 KiB/s on average.
const (
	paceGrace = 30 * time.Second
	minPace   = 8 << 10
)

// Due returns the time by which n bytes must have been transferred.
func Due(start time.Time, n int64) time.Time {
	return start.Add(paceGrace + timeFor(n))
}

// timeFor returns how long n bytes take at the slowest pace.
func timeFor(n int64) time.Duration {
	return time.Duration(float64(n) / minPace * float64(time.Second))
}

// Body returns a request's body of at most most bytes. Reading fails if the body arrives too
// slowly, so that nobody can occupy a slot with a byte a minute.
func Body(rw http.ResponseWriter, r *http.Request, most int64, slot *UploadSlot) io.ReadCloser {
	return &body{ReadCloser: http.MaxBytesReader(rw, r.Body, most), rc: slot.rc, start: time.Now(), slot: slot}
}

type body struct {
	io.ReadCloser
	rc    *http.ResponseController
	start time.Time
	n     int64
	slot  *UploadSlot
}

var errTooSlow = errors.New("too slow while others wait")

func (b *body) Read(p []byte) (int, error) {
	// Response recorders in tests have no deadlines.
	_ = b.rc.SetReadDeadline(Due(b.start, b.n))
	if b.slot.Lost() { // asked after the deadline was set, which evict sets too
		return 0, errTooSlow
	}
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	b.slot.moved(n)
	return n, err
}
