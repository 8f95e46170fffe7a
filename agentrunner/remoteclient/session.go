package remoteclient

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// Unheard tells the host that a message was pushed into a session several times and is not
// acknowledged. The host tells the chat and the operator. waits is false if the message has
// ended. Errors are those of Inbox.
func (c *Client) Unheard(ctx context.Context, id string) (waits bool, err error) {
	a, err := c.exchange(ctx, request{method: "POST", path: "/api/inbox/" + url.PathEscape(id) + "/unheard"}, []byte{})
	if err != nil {
		return false, err
	}
	var told struct {
		ID    string `json:"id"`
		Waits bool   `json:"waits"`
	}
	if a.status != 200 || json.Unmarshal(a.body, &told) != nil || told.ID == "" {
		return false, problem(a)
	}
	return told.Waits, nil
}

// AskPermission has the host ask the members whom the operator has named whether a session
// may use a tool. The answer comes by Permission. Errors are those of Inbox. The question has an id
// of its own, so a host that has taken it asks nobody twice when its answer is lost.
func (c *Client) AskPermission(ctx context.Context, p ipc.Permission) (ipc.Permission, error) {
	var id [16]byte
	rand.Read(id[:])
	body, err := json.Marshal(map[string]string{"id": hex.EncodeToString(id[:]), "tool": p.Tool, "description": p.Description, "input": p.Input})
	if err != nil {
		return p, err
	}
	return permission(c.exchange(ctx, request{method: "POST", path: "/api/permissions", header: []string{"Content-Type", "application/json"}}, body))
}

// Permission returns a question, after its answer or at most wait. Errors are those of
// Inbox.
func (c *Client) Permission(ctx context.Context, id string, wait time.Duration) (ipc.Permission, error) {
	return permission(c.exchange(ctx, request{method: "GET", path: "/api/permissions/" + url.PathEscape(id) + "?wait=" + wait.String(), wait: wait}, nil))
}

func permission(a answer, err error) (p ipc.Permission, _ error) {
	if err != nil {
		return p, err
	}
	if a.status != 200 || json.Unmarshal(a.body, &p) != nil || p.ID == "" {
		return ipc.Permission{}, problem(a)
	}
	return p, nil
}
