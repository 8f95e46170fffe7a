package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// ErrTooLong is the error of Ask if the answer is too long.
var ErrTooLong = errors.New("the answer is too long")

// Ask makes a request that may be repeated, since it shows nothing new in a chat, and returns
// the answer, whatever its status. An answer of most bytes or more is ErrTooLong. Every error
// is temporary and does not hold the address.
func Ask(ctx context.Context, c *http.Client, method, address string, header http.Header, body []byte, most int64) (*Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", WithoutAddress(err))
	}
	req.Header = header
	res, err := c.Do(req)
	if err != nil {
		return nil, WithoutAddress(err)
	}
	defer Drain(res)
	got, err := io.ReadAll(io.LimitReader(res.Body, most))
	if err == nil && int64(len(got)) == most {
		err = ErrTooLong
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: got}, err
}

// WithoutAddress returns the cause of an error of http.Client. The error itself has the address
// of the request, which may hold a token.
func WithoutAddress(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}

// Transport is a RoundTripper to embed in a type that wraps the transport of a client of New.
// It passes on CloseIdleConnections, which http.Client calls.
type Transport struct{ http.RoundTripper }

// CloseIdleConnections closes the idle connections of the wrapped transport.
func (t Transport) CloseIdleConnections() {
	(&http.Client{Transport: t.RoundTripper}).CloseIdleConnections()
}
