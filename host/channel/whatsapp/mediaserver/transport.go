package mediaserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/outcome"
)

// uploadKey is where a request's context holds its *upload.
type uploadKey struct{}

// upload is the ciphertext of one file that is being uploaded.
type upload struct {
	body     io.ReaderAt
	progress *transfer.Progress
	servers  servers

	refused *statusError // the last answer, if it was not 200
}

// servers knows the media servers, and asks for authorizations.
type servers interface {
	hosts(ctx context.Context) (hosts []string, err error) // best first
	renewAuth(ctx context.Context) (auth string, err error)
}

// statusError is an answer of a media server other than 200.
type statusError struct {
	code       int
	retryAfter time.Duration
}

func (e *statusError) Error() string { return fmt.Sprintf("the media server answered %d", e.code) }

// Transport carries the library's uploads and downloads of a Client. It ends a download that
// is too slow or that leads to a forbidden address. It repeats an upload, which the library
// cannot do: the ciphertext is in a file, so Transport sends it to the next host if one cannot
// be reached, and with a fresh authorization if the old one is rejected, without a second
// encryption.
type Transport struct{ Base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if down, ok := req.Context().Value(downloadKey{}).(*download); ok {
		return down.receive(t.Base, req)
	}
	up, ok := req.Context().Value(uploadKey{}).(*upload)
	if !ok || req.Method != http.MethodPost {
		return t.Base.RoundTrip(req)
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	return up.send(t.Base, req)
}

// receive enforces the speed from the request on. It stops the library after a
// refused address, which the library would try five times at each host.
func (d *download) receive(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	watch := d.speed.Watch(d.stop)
	res, err := base.RoundTrip(req)
	if err != nil {
		watch.Stop()
		if errors.Is(err, transfer.ErrRefused) {
			d.stop(err)
		}
		return nil, err
	}
	res.Body = watch.Body(res.Body)
	return res, nil
}

func (u *upload) send(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	hosts, renewed := []string{req.URL.Host}, false
	if all, err := u.servers.hosts(ctx); err == nil && len(all) > 0 {
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
		u.refused = &statusError{code: res.StatusCode, retryAfter: transfer.RetryAfter(res.Header, time.Now())}
		switch {
		case (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) && !renewed:
			renewed = true
			auth, err := u.servers.renewAuth(ctx)
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
		transfer.Drain(res)
	}
}

// request returns a new request whose body is the ciphertext from its start.
func (u *upload) request(req *http.Request, host string) *http.Request {
	r := req.Clone(req.Context())
	r.URL.Host, r.Host = host, ""
	r.Body = io.NopCloser(u.progress.Reader(io.NewSectionReader(u.body, 0, req.ContentLength)))
	return r
}

// outcomeOf classifies the error of an upload, after which members see nothing.
func outcomeOf(err error, refused *statusError) error {
	var known *channel.Error
	switch {
	case errors.As(err, &known):
		return err
	case refused == nil:
		return outcome.Passing("upload_failed", "the file could not be brought to WhatsApp", err)
	case refused.code == http.StatusRequestEntityTooLarge:
		return &channel.Error{Class: channel.Permanent, Code: "file_too_large", Message: "WhatsApp's server does not take a file of this size",
			Hint: "make it smaller, or split it and send the parts", Err: err}
	case refused.code == http.StatusBadRequest, refused.code == http.StatusUnsupportedMediaType:
		return &channel.Error{Class: channel.Permanent, Code: "upload_refused",
			Message: fmt.Sprintf("WhatsApp's server does not take the file (%d)", refused.code),
			Hint:    "send it as a document (set `as` to document)", Err: err}
	case refused.code == http.StatusTooManyRequests:
		e := outcome.Passing("rate_limited", "WhatsApp takes no more files for a while", err)
		e.RetryAfter = max(refused.retryAfter, 10*time.Second)
		return e
	}
	e := outcome.Passing("upload_failed", fmt.Sprintf("WhatsApp's media server has a problem (%d)", refused.code), err)
	e.RetryAfter = refused.retryAfter
	return e
}
