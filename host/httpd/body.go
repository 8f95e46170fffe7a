package httpd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

// Speed is the least speed of bytes on their way. They may fall behind it by Grace, however fast
// they were before.
type Speed struct {
	PerSecond int64 // bytes
	Grace     time.Duration
}

// The least speeds. Quick is of what fits into a packet or two, Steady of all else.
var (
	Quick  = Speed{8 << 10, 10 * time.Second}
	Steady = Speed{8 << 10, 30 * time.Second}
)

// timeFor returns how long n bytes take.
func (s Speed) timeFor(n int64) time.Duration {
	return time.Duration(float64(n) / float64(s.PerSecond) * float64(time.Second))
}

// usualBody is how many bytes a body may have whose handler does not call Body.
const usualBody = 64 << 10

// Body returns the body of a request, of at most that many bytes. Reading fails if they come too
// slowly, and with the Problem that is the cause of the end of the request's context. The bounds
// replace those that the Server has set.
func Body(rw http.ResponseWriter, r *http.Request, most int64, s Speed) io.ReadCloser {
	return newBody(rw, r, most, s, nil)
}

func newBody(rw http.ResponseWriter, r *http.Request, most int64, s Speed, slot *UploadSlot) io.ReadCloser {
	raw := r.Body
	if b, ok := raw.(*body); ok {
		raw = b.raw
	}
	b := &body{ReadCloser: http.MaxBytesReader(rw, raw, most), raw: raw, ctx: r.Context(), rc: http.NewResponseController(rw), speed: s, slot: slot}
	b.due = time.Now().Add(s.Grace)
	b.wait(b.due)
	return b
}

type body struct {
	io.ReadCloser // bounded
	raw           io.ReadCloser
	ctx           context.Context
	rc            *http.ResponseController
	speed         Speed
	due           time.Time   // of the next bytes
	slot          *UploadSlot // nil: none
}

var errTooSlow = errors.New("too slow while others wait")

func (b *body) Read(p []byte) (int, error) {
	b.wait(b.due)
	if b.slot.Lost() { // asked after the deadline was set, which evict sets too
		return 0, errTooSlow
	}
	n, err := b.ReadCloser.Read(p)
	if ended := Ended(b.ctx); ended != nil {
		return 0, ended
	}
	b.due = b.due.Add(b.speed.timeFor(int64(n)))
	if latest := time.Now().Add(b.speed.Grace); b.due.After(latest) {
		b.due = latest
	}
	b.slot.moved(n)
	if errors.Is(err, io.EOF) {
		b.wait(time.Time{}) // else the server, which waits for the client to leave, takes the deadline for that
	}
	return n, err
}

// wait sets by when bytes must come. Response recorders in tests have no deadlines.
func (b *body) wait(until time.Time) { _ = b.rc.SetReadDeadline(until) }

// Ended returns the Problem with which a request was ended, such as that its token was revoked; nil
// if it goes on.
func Ended(ctx context.Context) error {
	if p, ok := errors.AsType[*Problem](context.Cause(ctx)); ok {
		return p
	}
	return nil
}

// ReadAll reads a body of at most that many bytes, which must come quickly.
func ReadAll(rw http.ResponseWriter, r *http.Request, most int64) ([]byte, *Problem) {
	b, err := io.ReadAll(Body(rw, r, most, Quick))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, Refuse(http.StatusRequestEntityTooLarge, "body_too_large", "the body is larger than "+media.Size(most), "send less at once")
	}
	if err != nil {
		return nil, Refuse(http.StatusBadRequest, "bad_body", "the body did not come whole, or too slowly", "send it again")
	}
	return b, nil
}
