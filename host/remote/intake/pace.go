package intake

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// pacer says by when the next bytes of a body must have come. A body that came fast has no
// more time than any other: it may fall behind by the grace, never by more.
type pacer struct {
	limits Limits
	due    time.Time
}

func (l Limits) pacer() pacer { return pacer{l, time.Now().Add(l.Grace)} }

// moved takes note of n bytes.
func (p *pacer) moved(n int) {
	p.due = p.due.Add(time.Duration(n) * time.Second / time.Duration(p.limits.Speed))
	if latest := time.Now().Add(p.limits.Grace); p.due.After(latest) {
		p.due = latest
	}
}

// paced is a body of a bounded size that fails if it comes too slowly.
type paced struct {
	io.ReadCloser
	pacer
	ctx context.Context
	rc  *http.ResponseController
}

// Body returns the body of a request, of at most that many bytes. It fails if they come too slowly.
func (l Limits) Body(rw http.ResponseWriter, r *http.Request, most int64) io.Reader {
	return &paced{ReadCloser: http.MaxBytesReader(rw, r.Body, most), pacer: l.pacer(), ctx: r.Context(), rc: http.NewResponseController(rw)}
}

func (p *paced) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(p.due) // recorders of tests have none
	_ = p.rc.SetWriteDeadline(p.due.Add(p.limits.Grace))
	n, err := p.ReadCloser.Read(b)
	if err := ended(p.ctx); err != nil {
		return 0, err
	}
	p.moved(n)
	return n, err
}

// Answer returns a long answer. Its reader is cut off if it reads slower than a body may come.
func (l Limits) Answer(rw http.ResponseWriter, r *http.Request) http.ResponseWriter {
	return &pacedAnswer{ResponseWriter: rw, pacer: l.pacer(), ctx: r.Context(), rc: http.NewResponseController(rw)}
}

type pacedAnswer struct {
	http.ResponseWriter
	pacer
	ctx context.Context
	rc  *http.ResponseController
}

func (p *pacedAnswer) Write(b []byte) (int, error) {
	if err := ended(p.ctx); err != nil {
		return 0, err
	}
	_ = p.rc.SetWriteDeadline(p.due) // recorders of tests have none
	n, err := p.ResponseWriter.Write(b)
	p.moved(n)
	return n, err
}

// ended returns the answer with which a call was ended, such as that its token was revoked; nil
// if it goes on.
func ended(ctx context.Context) error {
	if p := (*httpd.Problem)(nil); errors.As(context.Cause(ctx), &p) {
		return p
	}
	return nil
}
