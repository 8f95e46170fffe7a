package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// uploadKey is where a request's context holds its *upload.
type uploadKey struct{}

// upload is one file's ciphertext on its way: what the library does not keep
// of it.
type upload struct {
	body     io.ReaderAt
	progress *progress
	renew    func(ctx context.Context) (auth string, err error)    // a fresh authorization
	hosts    func(ctx context.Context) (hosts []string, err error) // where media go, best first

	refused *statusError // what the last answer was, where it was no 200
}

// statusError is an answer of a media server other than 200.
type statusError struct {
	code       int
	retryAfter time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("the media server answered %d", e.code) }

// mediaTransport carries uploads and downloads. To an upload it adds what the
// library lacks: since the ciphertext lies in a file, it can be sent again, to
// the next host where one cannot be reached, and with a fresh authorization
// where the old one is refused, without encrypting it again.
type mediaTransport struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t mediaTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	up, ok := req.Context().Value(uploadKey{}).(*upload)
	if !ok || req.Method != http.MethodPost {
		return t.base.RoundTrip(req)
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	return up.send(t.base, req)
}

func (u *upload) send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	hosts, renewed := []string{req.URL.Host}, false
	if all, err := u.hosts(ctx); err == nil && len(all) > 0 {
		hosts = all
	}
	for i := 0; ; {
		res, err := base.RoundTrip(u.request(req, hosts[i]))
		last := i == len(hosts)-1 || ctx.Err() != nil
		switch {
		case err != nil && last:
			return nil, err
		case err != nil:
			i++
			continue
		case res.StatusCode == http.StatusOK:
			u.refused = nil
			return res, nil
		}
		u.refused = &statusError{code: res.StatusCode, retryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now())}
		switch {
		case authRefused(res.StatusCode) && !renewed:
			renewed = true
			auth, err := u.renew(ctx)
			if err != nil {
				return res, nil
			}
			q := req.URL.Query()
			q.Set("auth", auth)
			req = req.Clone(ctx)
			req.URL.RawQuery = q.Encode()
		case res.StatusCode == http.StatusBadGateway && !last:
			i++
		default:
			return res, nil
		}
		drain(res)
	}
}

// request is a fresh request with the ciphertext from its start.
func (u *upload) request(req *http.Request, host string) *http.Request {
	r := req.Clone(req.Context())
	r.URL.Host, r.Host = host, ""
	r.Body = io.NopCloser(&countingReader{r: io.NewSectionReader(u.body, 0, req.ContentLength), told: u.progress.told})
	return r
}

func authRefused(code int) bool {
	return code == http.StatusUnauthorized || code == http.StatusForbidden
}

// drain reads what is left, so that the connection can be used again.
func drain(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	_ = res.Body.Close()
}

// retryAfter reads the header's two forms, RFC 9110 section 10.2.3; 0 where it
// says nothing sensible. More than a day is nobody's wish.
func retryAfter(header string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if n, err := strconv.ParseUint(header, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), 24*time.Hour)
}

// uploadVerdict sorts what an upload ended with. Nothing was shown in any case.
func uploadVerdict(err error, refused *statusError) error {
	var known *channel.Error
	switch {
	case errors.As(err, &known):
		return err
	case refused == nil:
		return passing("upload_failed", "the file could not be brought to WhatsApp", err)
	case refused.code == http.StatusRequestEntityTooLarge:
		return &channel.Error{Class: channel.Permanent, Code: "file_too_large", Message: "WhatsApp's server does not take a file of this size",
			Hint: "make it smaller, or split it and send the parts", Err: err}
	case refused.code == http.StatusBadRequest, refused.code == http.StatusUnsupportedMediaType:
		return &channel.Error{Class: channel.Permanent, Code: "upload_refused",
			Message: fmt.Sprintf("WhatsApp's server does not take the file (%d)", refused.code),
			Hint:    "send it as a document (set `as` to document)", Err: err}
	case refused.code == http.StatusTooManyRequests:
		e := passing("rate_limited", "WhatsApp takes no more files for a while", err)
		e.RetryAfter = max(refused.retryAfter, 10*time.Second)
		return e
	}
	e := passing("upload_failed", fmt.Sprintf("WhatsApp's media server has a problem (%d)", refused.code), err)
	e.RetryAfter = refused.retryAfter
	return e
}

// progress passes on how far an upload is. It never falls, since a second
// attempt begins at the start, and is silent once stopped: net/http may go on
// reading a body after the answer.
type progress struct {
	mu   sync.Mutex
	tell func(int64) // nil when stopped
	size int64       // of the plaintext; the ciphertext is some bytes longer
	last int64
}

func newProgress(tell func(int64), size int64) *progress {
	if tell == nil {
		tell = func(int64) {}
	}
	return &progress{tell: tell, size: size, last: -1}
}

func (p *progress) told(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n = min(n, p.size); n > p.last && p.tell != nil {
		p.last = n
		p.tell(n)
	}
}

func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tell = nil
}

type countingReader struct {
	r    io.Reader
	n    int64
	told func(int64)
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	if n > 0 {
		c.told(c.n)
	}
	return n, err
}
