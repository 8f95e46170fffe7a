package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// maxReply is the size of the largest answer that the client reads, in bytes:
// some ten thousand items.
const maxReply = 64 << 20

// Client is the Control of a running host. If the host answered with an error,
// that is a *refusal.Error. If no host runs, the error is ErrNoHost; if this
// user may not connect, ErrDenied.
type Client struct {
	http *http.Client
}

// NewClient returns a client of the host whose socket is in dir, see
// ControlDir. It connects for each call.
func NewClient(dir string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) },
		DisableKeepAlives: true, // a command makes one or two calls; no connection stays open
	}}}
}

// answerTime is how long a host has to say that it runs.
const answerTime = 5 * time.Second

// ErrSilent means that a host runs and does not answer.
var ErrSilent = errors.New("the host is running and not answering: it has not said within 5 seconds that it is alive")

// SilentRemedy is what to do about it.
const SilentRemedy = "wait, if the machine is busy; otherwise end the process and start it again (systemctl restart longshore, or kill -9 and longshore serve): what was accepted is kept"

// Health returns nil if a host answers, and otherwise ErrNoHost, ErrDenied or ErrSilent.
func (c *Client) Health(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := c.call(short, http.MethodGet, "/healthz", nil, nil)
	switch {
	case err != nil && short.Err() != nil && ctx.Err() == nil:
		return ErrSilent
	case errors.Is(err, errAnswered), refusal.Of(err) != nil:
		return nil
	}
	return err
}

// errAnswered is of a host whose answer says nothing.
var errAnswered = errors.New("the host answered")

// ErrUnanswered means that the host ended while it did what changes something.
var ErrUnanswered = errors.New("the host ended before it answered: whether it did this is not known")

// UnansweredRemedy is what to do about it.
const UnansweredRemedy = "before you do it again, look: longshore queue list --all, on the host that owns"

// change is call of what changes something.
func (c *Client) change(ctx context.Context, name string, in, out any) error {
	err := c.call(ctx, http.MethodPost, "/v1/"+name, in, out)
	for _, ended := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, ended) {
			return ErrUnanswered
		}
	}
	return err
}

// call makes one call and decodes the answer into out, unless out is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode call: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+socketHost+path, body)
	if err != nil {
		return fmt.Errorf("make call: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		for _, known := range []error{ErrNoHost, ErrDenied} {
			if errors.Is(err, known) {
				return known // without the address of the call
			}
		}
		return fmt.Errorf("ask the host: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return fmt.Errorf("read the host's answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		var answer struct{ Error refusal.Error }
		if json.Unmarshal(data, &answer) != nil || answer.Error.Message == "" {
			return fmt.Errorf("%w %d", errAnswered, res.StatusCode)
		}
		if answer.Error.Code == codeInternal {
			return errors.New(answer.Error.Message)
		}
		return &answer.Error
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the host's answer: %w", err)
	}
	return nil
}
