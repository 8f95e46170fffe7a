package transfer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Bounded returns a reader of r for a sender that ignores its context. It ends with ctx, and
// returns no more than the size bytes that were accepted.
func Bounded(ctx context.Context, r io.Reader, size int64) io.Reader {
	return &bounded{ctx: ctx, r: r, left: size}
}

type bounded struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("the file is longer than what was accepted")
	}
	return n, err
}

// Progress reports how far an upload is, in bytes of the file. The number never falls, although
// a second attempt begins at the start. Nothing is reported after Stop: net/http may go on
// reading a body after the answer.
type Progress struct {
	mu   sync.Mutex
	tell func(int64) // nil when stopped
	size int64
	last int64
}

// NewProgress reports to tell the progress of a file of size bytes. tell may be nil.
func NewProgress(tell func(int64), size int64) *Progress {
	if tell == nil {
		tell = func(int64) {}
	}
	return &Progress{tell: tell, size: size, last: -1}
}

// At reports that n bytes are sent. Bytes beyond the file's size are the ciphertext's padding.
func (p *Progress) At(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n = min(n, p.size); n > p.last && p.tell != nil {
		p.last = n
		p.tell(n)
	}
}

// Stop ends the reports.
func (p *Progress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = nil
}

// Reader returns the body of an attempt. It reports what is read of r, from 0 on.
func (p *Progress) Reader(r io.Reader) io.Reader { return &counting{r: r, p: p} }

type counting struct {
	r io.Reader
	n int64
	p *Progress
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	if n > 0 {
		c.p.At(c.n)
	}
	return n, err
}

// RetryAfter reads the two forms of the header of that name, RFC 9110 section
// 10.2.3. It returns 0 for any other value, and a day at most.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	header, wait := h.Get("Retry-After"), time.Duration(0)
	if n, err := strconv.ParseUint(header, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
			now = theirs // this machine's clock may be off
		}
		wait = at.Sub(now)
	}
	return min(max(wait, 0), 24*time.Hour)
}

// Drain reads up to 64 KiB of the rest of an answer and closes it, so that the connection can be
// used again.
func Drain(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	_ = res.Body.Close()
}
