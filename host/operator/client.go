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
	"net/url"
	"strconv"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/tasks"
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

var _ Control = (*Client)(nil)

// NewClient returns a client of the host whose socket is in dir, see
// ControlDir. It connects for each call.
func NewClient(dir string) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, dir) },
		DisableKeepAlives: true, // a command makes one or two calls; no connection stays open
	}}}
}

// Status asks the host for its Status.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	return s, c.call(ctx, http.MethodGet, "/v1/status", nil, &s)
}

// List asks the host for the items that match.
func (c *Client) List(ctx context.Context, f Filter) ([]Item, error) {
	q := url.Values{}
	if f.Group != "" {
		q.Set("group", f.Group)
	}
	for name, set := range map[string]bool{"waiting": f.Waiting, "moving": f.Moving, "oldest": f.Oldest, "failed": f.Failed, "all": f.All} {
		if set {
			q.Set(name, "1")
		}
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	var items []Item
	return items, c.call(ctx, http.MethodGet, "/v1/items?"+q.Encode(), nil, &items)
}

// Show asks the host for one item.
func (c *Client) Show(ctx context.Context, id string) (Item, error) {
	var item Item
	return item, c.call(ctx, http.MethodGet, itemPath(id), nil, &item)
}

// Retry asks the host to try an item again.
func (c *Client) Retry(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, itemPath(id)+"/retry", nil, nil)
}

// Drop asks the host to cancel or delete an item.
func (c *Client) Drop(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, itemPath(id), nil, nil)
}

// Decide gives the host an answer to an approval.
func (c *Client) Decide(ctx context.Context, id string, yes bool) error {
	return c.call(ctx, http.MethodPost, itemPath(id)+"/"+answerOf(yes), nil, nil)
}

func answerOf(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// Send asks the host to accept a file. It returns after the host has copied the
// file.
func (c *Client) Send(ctx context.Context, s Send) (Item, error) {
	var item Item
	return item, c.call(ctx, http.MethodPost, "/v1/send", s, &item)
}

// Chats asks the host for the chats of a channel's account.
func (c *Client) Chats(ctx context.Context, channelName string) ([]channel.Chat, error) {
	var chats []channel.Chat
	return chats, c.call(ctx, http.MethodGet, "/v1/channels/"+url.PathEscape(channelName)+"/chats", nil, &chats)
}

// Reload asks the host to read its configuration again.
func (c *Client) Reload(ctx context.Context, remove bool) (Reloaded, error) {
	var r Reloaded
	path := "/v1/reload"
	if remove {
		path += "?remove=1"
	}
	return r, c.call(ctx, http.MethodPost, path, nil, &r)
}

// NotifyTest asks the host to tell its targets that this is a test.
func (c *Client) NotifyTest(ctx context.Context) ([]Notified, error) {
	var all []Notified
	return all, c.call(ctx, http.MethodPost, "/v1/notify/test", nil, &all)
}

// Requests asks the host for its pairing codes.
func (c *Client) Requests(ctx context.Context) ([]PairingCode, error) {
	var codes []PairingCode
	return codes, c.call(ctx, http.MethodGet, "/v1/pairing", nil, &codes)
}

// Approve asks the host to end a pairing code.
func (c *Client) Approve(ctx context.Context, code string) error {
	return c.call(ctx, http.MethodPost, "/v1/pairing/"+url.PathEscape(code), nil, nil)
}

// Tasks asks the host for its scheduled tasks.
func (c *Client) Tasks(ctx context.Context, group string) ([]tasks.Task, error) {
	var all []tasks.Task
	return all, c.call(ctx, http.MethodGet, "/v1/tasks?"+url.Values{"group": {group}}.Encode(), nil, &all)
}

// OperateTask asks the host to do something with a task.
func (c *Client) OperateTask(ctx context.Context, id, verb string) (tasks.Answer, error) {
	var answer tasks.Answer
	return answer, c.call(ctx, http.MethodPost, "/v1/tasks/"+url.PathEscape(id)+"/"+url.PathEscape(verb), nil, &answer)
}

// Links asks the host for the links that can be followed.
func (c *Client) Links(ctx context.Context, group string) ([]Link, error) {
	var all []Link
	return all, c.call(ctx, http.MethodGet, "/v1/links?"+url.Values{"group": {group}}.Encode(), nil, &all)
}

// RevokeLink asks the host to end a link.
func (c *Client) RevokeLink(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/links/"+url.PathEscape(id), nil, nil)
}

// Environment asks the host to check what its assistants need.
func (c *Client) Environment(ctx context.Context, folder string) ([]channel.Finding, error) {
	var all []channel.Finding
	return all, c.call(ctx, http.MethodGet, "/v1/environment?"+url.Values{"group": {folder}}.Encode(), nil, &all)
}

// StopAssistant asks the host to end a group's turns.
func (c *Client) StopAssistant(ctx context.Context, folder string) (Stopped, error) {
	var s Stopped
	return s, c.call(ctx, http.MethodPost, "/v1/assistants/"+url.PathEscape(folder)+"/stop", nil, &s)
}

// Link asks the host to link a channel.
func (c *Client) Link(ctx context.Context, channelName string) (Linking, error) {
	var l Linking
	return l, c.call(ctx, http.MethodPost, "/v1/channels/"+url.PathEscape(channelName)+"/link", nil, &l)
}

// PageURL asks the host for an address of its operator's page.
func (c *Client) PageURL(ctx context.Context) (PageURL, error) {
	var p PageURL
	return p, c.call(ctx, http.MethodPost, "/v1/page", nil, &p)
}

// Log asks the host for lines of its log.
func (c *Client) Log(ctx context.Context, q LogQuery) (LogPage, error) {
	v := url.Values{"after": {strconv.FormatInt(q.After, 10)}, "limit": {strconv.Itoa(q.Limit)}}
	if q.Group != "" {
		v.Set("group", q.Group)
	}
	var page LogPage
	return page, c.call(ctx, http.MethodGet, "/v1/log?"+v.Encode(), nil, &page)
}

// Unpair asks the host to unlink a channel from its account.
func (c *Client) Unpair(ctx context.Context, channelName string) error {
	return c.call(ctx, http.MethodDelete, "/v1/channels/"+url.PathEscape(channelName)+"/account", nil, nil)
}

// Health returns nil if the host is healthy, and otherwise the host's reason.
func (c *Client) Health(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/healthz", nil, nil)
}

func itemPath(id string) string { return "/v1/items/" + url.PathEscape(id) }

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
	req, err := http.NewRequestWithContext(ctx, method, "http://longshore"+path, body)
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
		answer := &refusal.Error{}
		if json.Unmarshal(data, answer) != nil || answer.Message == "" {
			return fmt.Errorf("the host answered %d", res.StatusCode)
		}
		if answer.Code == codeInternal {
			return errors.New(answer.Message)
		}
		return answer
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read the host's answer: %w", err)
	}
	return nil
}
