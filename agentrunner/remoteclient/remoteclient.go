// Package remoteclient is the assistant's end of the host's HTTP server: what package ipc's Client is
// for a shared directory, over HTTP. A token takes the place of the directory. Files are
// uploaded, and a call is repeated under its key until the host has answered.
//
// It keeps nothing on this machine. The host is trusted with what it is sent, but its
// answers are bounded and parsed strictly, since the connection may lead elsewhere.
package remoteclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// Problem is an error that the caller can act on: a stable code, what is wrong, and what to
// do about it. Most errors of a Client are a *Problem, and have the host's words.
type Problem = refusal.Error

// Client speaks to one host with one token. Its methods may be called concurrently, and no
// goroutine that they start outlives the call.
type Client struct {
	network, address string // to dial
	host, prefix     string // in requests
	token            string
	refused          func(error)

	mu      sync.Mutex
	context ipc.Context // as the host said at asked
	asked   time.Time
}

// New returns the client for a host's address: http://HOST:PORT, perhaps with a path, or
// unix: and the path of a socket. It connects to nothing. Errors are permanent and do not
// hold the token.
func New(address, token string) (*Client, error) {
	c := &Client{token: token, refused: func(error) {}}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("LONGSHORE_TOKEN: with LONGSHORE_URL it must be the token that the operator made with: longshore tokens new")
	}
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" || path[0] != '/' {
			return nil, fmt.Errorf("LONGSHORE_URL: %q must name the socket by its absolute path, such as unix:/run/longshore/remote.sock", media.Cut(address, 120))
		}
		c.network, c.address, c.host = "unix", path, "localhost"
		return c, nil
	}
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Scheme == "https":
		return nil, errors.New("LONGSHORE_URL: https is not spoken here; let ssh carry the connection (ssh -N -L 8430:127.0.0.1:8430 HOST) or a proxy with TLS on this machine, and use http://127.0.0.1:8430")
	case err != nil, u.Scheme != "http", u.Hostname() == "", u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("LONGSHORE_URL: it must be http://HOST:PORT or unix:/PATH, as remote.listen has it")
	}
	c.network, c.host, c.prefix = "tcp", u.Host, strings.TrimRight(u.EscapedPath(), "/")
	c.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))
	return c, nil
}

// OnRefused has f hear why the host does not work with this client at all: its token does
// not count, or another program is at the address. It must be set before the first call.
func (c *Client) OnRefused(f func(error)) { c.refused = f }

// Codes of problems that the host cannot tell itself.
const (
	codeUnreachable = "unreachable" // nothing was sent
	codeUnanswered  = "unanswered"  // the host may have it
)

// callTimeout is how long a call is repeated that the host does not answer.
const callTimeout = 20 * time.Second

// exchange makes a request until the host answers it, within callTimeout: again after a lost
// connection, and if the host is busy. body may be nil. Errors are *Problem; those
// of the host have its words.
func (c *Client) exchange(ctx context.Context, r request, body []byte) (answer, error) {
	over, cancel := context.WithTimeout(ctx, callTimeout+r.wait)
	defer cancel()
	sent := false
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if body != nil {
			r.body, r.length = bytes.NewReader(body), int64(len(body))
		}
		a, err := c.do(over, r)
		if err == nil && !busy(a) {
			return a, nil
		}
		var lost *lostError
		sent = sent || errors.As(err, &lost) && lost.sent && r.method == "POST"
		if !wake.Sleep(over, pause) {
			if err == nil {
				return a, nil
			}
			return answer{}, c.unanswered(err, sent)
		}
	}
}

// busy says that the host asks for the same call again.
func busy(a answer) bool { return a.status == 429 || a.status >= 500 }

// unanswered is the problem of a call that the host did not answer. The words name no
// address: that is the operator's.
func (c *Client) unanswered(err error, sent bool) error {
	var op *net.OpError
	why := "no answer came"
	if errors.As(err, &op) && op.Op == "dial" {
		why = media.Printable(op.Err.Error())
	}
	if sent {
		return &refusal.Error{Code: codeUnanswered, Message: "the connection to the host broke before it answered (" + why + ")",
			Hint: "the host may have taken the call: ask a member of the chat whether it arrived before you call again"}
	}
	return &refusal.Error{Code: codeUnreachable, Message: "the host cannot be reached (" + why + "); nothing was sent",
		Hint: "call again later; if it stays so, tell the operator to look at LONGSHORE_URL, the host and what carries the connection"}
}

// errNoToken is what status 401 means, whatever words come with it: none with an answer to HEAD.
var errNoToken = &refusal.Error{Code: "no_token", Message: "this needs a token that counts", Hint: "tell the operator to make one with: longshore tokens new"}

// problem is the host's refusal, in its words.
func problem(a answer) error {
	var told struct {
		Error refusal.Error `json:"error"`
	}
	if json.Unmarshal(a.body, &told) == nil && told.Error.Code != "" {
		e := told.Error
		return &refusal.Error{Code: media.Printable(e.Code), Message: media.Printable(e.Message), Hint: media.Printable(e.Hint)}
	}
	return &refusal.Error{Code: "not_longshore", Message: fmt.Sprintf("what answers at LONGSHORE_URL is not Longshore's remote server (status %d)", a.status),
		Hint: "tell the operator to compare LONGSHORE_URL with remote.listen"}
}

// result reads a result out of an answer.
func result(a answer) (ipc.Result, error) {
	var r ipc.Result
	if json.Unmarshal(a.body, &r) != nil || r.ID == "" || r.Status == "" {
		return r, problem(a)
	}
	return r, nil
}

// Enqueue gives the host a request and returns the id of its delivery. The host has it
// durably after the return. A call with a key that an earlier one had is the same delivery;
// without one, each call is a delivery of its own. The type is not used here. If the
// request breaks a limit or is refused by the server, the error is a *Problem or a
// *ipc.Refusal and permanent.
func (c *Client) Enqueue(ctx context.Context, r ipc.Request, _ ipc.Type, key string) (string, error) {
	body, err := ipc.Encode(r)
	if err != nil {
		return "", err
	}
	if key == "" {
		u, err := uuid.NewRandom()
		if err != nil {
			return "", fmt.Errorf("make a key: %w", err)
		}
		key = u.String()
	} else if len(key) > 128 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", &refusal.Error{Code: "invalid_argument", Message: "the key is no key", Hint: "use at most 128 printable ASCII characters"}
	}
	a, err := c.exchange(ctx, request{method: "POST", path: "/api/requests", header: []string{"Content-Type", "application/json", "Idempotency-Key", key}}, body)
	if err != nil {
		return "", err
	}
	told, err := result(a)
	return told.ID, err
}

// maxWait is how long one request waits at the host, which may have a lower bound.
const maxWait = 45 * time.Second

// Wait is as that of ipc.Client. A host that is away is asked again until ctx ends.
func (c *Client) Wait(ctx context.Context, id string, changed func(ipc.Result)) (ipc.Result, error) {
	last := ipc.Result{ID: id, Status: ipc.Queued}
	for pause := 100 * time.Millisecond; ; {
		query := url.Values{"wait": {maxWait.String()}}
		if !last.Time.IsZero() {
			query.Set("seen", last.Time.Format(time.RFC3339Nano))
		}
		a, err := c.do(ctx, request{method: "GET", path: "/api/deliveries/" + id + "?" + query.Encode(), wait: maxWait})
		if err != nil || busy(a) {
			if !wake.Sleep(ctx, pause) {
				return last, nil
			}
			pause = min(2*pause, 2*time.Second)
			continue
		}
		r, err := result(a)
		if err != nil { // a revoked token, for example: the delivery goes on
			return last, nil
		}
		if changed != nil && !reflect.DeepEqual(r, last) {
			changed(r)
		}
		last, pause = r, 100*time.Millisecond
		if r.Status.Final() || ctx.Err() != nil {
			return r, nil
		}
	}
}

// Status returns the current result of a request. The error is a *Problem.
func (c *Client) Status(id string) (ipc.Result, error) {
	a, err := c.exchange(context.Background(), request{method: "GET", path: "/api/deliveries/" + id}, nil)
	if err != nil {
		return ipc.Result{}, err
	}
	return result(a)
}

// Withdraw takes a request back and reports whether the host will never send it.
func (c *Client) Withdraw(id string) (bool, error) {
	a, err := c.exchange(context.Background(), request{method: "DELETE", path: "/api/deliveries/" + id}, nil)
	switch {
	case err != nil:
		return false, err
	case a.status == 204, a.status == 410:
		return true, nil
	case a.status == 409:
		return false, nil
	}
	return false, problem(a)
}

// fresh is how long the host's description is not asked for again.
const fresh = time.Second

// Context returns the host's description of the group. No directory is shared with this
// program, so it names none. The error is a *Problem.
func (c *Client) Context() (ipc.Context, error) { return c.Chat(context.Background()) }

// Chat is Context until ctx ends.
func (c *Client) Chat(ctx context.Context) (ipc.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked.IsZero() && time.Since(c.asked) < fresh {
		return c.context, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	a, err := c.do(ctx, request{method: "GET", path: "/api/chat"})
	if err != nil {
		return ipc.Context{}, c.unanswered(err, false)
	}
	var x ipc.Context
	if a.status != 200 || json.Unmarshal(a.body, &x) != nil {
		err := problem(a)
		if !busy(a) && a.status != 401 { // of which do has told
			c.refused(err)
		}
		return ipc.Context{}, err
	}
	x.Mounts = nil
	c.context, c.asked = x, time.Now()
	return x, nil
}
