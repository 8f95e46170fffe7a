package operator

import (
	"context"
	"encoding/json"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// op makes one call of a Control. Its argument and its answer are JSON.
type op func(ctx context.Context, c Control, in []byte) (any, error)

// ops are the calls of the control protocol by name: POST /v1/<name>, with the argument as the
// body. A new verb consists of:
//
//  1. its method of Control, its row in ops and the Client's method, in control.go and
//     here;
//  2. the method of Local, in the file of its story;
//  3. if only a running host can answer it: a method of an interface in running.go, and its
//     implementer in host/serve;
//  4. if it changes the outbox without a host: the method of Offline, which opens that;
//  5. its command in host/command, named in newRoot;
//  6. its name in reads or acts in host/console, if the operator's page has it;
//  7. its words in docs/cli.md.
var ops = map[string]op{
	"status": ask(Control.Status),
	"list":   askFor(Control.List), "show": askFor(Control.Show), "retry": tell(Control.Retry), "drop": tell(Control.Drop),
	"decide": tell(func(c Control, ctx context.Context, in decision) error { return c.Decide(ctx, in.ID, in.Yes) }),
	"send":   askFor(Control.Send), "chats": askFor(Control.Chats), "reload": askFor(Control.Reload),
	"pairing": ask(Control.PairingCodes), "approve": tell(Control.ApprovePairing),
	"tasks": askFor(Control.Tasks), "operate-task": askFor(func(c Control, ctx context.Context, in taskVerb) (tasks.Answer, error) {
		return c.OperateTask(ctx, in.ID, in.Verb)
	}),
	"links": askFor(Control.Links), "revoke-link": tell(Control.RevokeLink),
	"findings": askFor(Control.Findings), "stop": askFor(Control.StopAssistant),
	"link": askFor(Control.Link), "unpair": tell(Control.Unpair), "page": ask(Control.PageURL),
	"log": askFor(Control.Log), "audit": askFor(Control.Audit), "notify-test": ask(Control.NotifyTest),
	"tokens": ask(Control.Tokens), "make-token": askFor(Control.MakeToken), "revoke-token": tell(Control.RevokeToken),
}

// decision is the argument of decide.
type decision struct {
	ID  string `json:"id"`
	Yes bool   `json:"yes"`
}

// taskVerb is the argument of operate-task.
type taskVerb struct {
	ID   string `json:"id"`
	Verb string `json:"verb"`
}

func ask[Out any](f func(Control, context.Context) (Out, error)) op {
	return func(ctx context.Context, c Control, _ []byte) (any, error) { return f(c, ctx) }
}

func askFor[In, Out any](f func(Control, context.Context, In) (Out, error)) op {
	return func(ctx context.Context, c Control, b []byte) (any, error) {
		var in In
		if json.Unmarshal(b, &in) != nil {
			return nil, badCall("the call is not the JSON that was expected")
		}
		return f(c, ctx, in)
	}
}

func tell[In any](f func(Control, context.Context, In) error) op {
	return askFor(func(c Control, ctx context.Context, in In) (struct{}, error) { return struct{}{}, f(c, ctx, in) })
}

// The Client's methods are those of Control: each makes the call of that name.

func (c *Client) Status(ctx context.Context) (Status, error) {
	return viewOf[Status](ctx, c, "status", nil)
}

func (c *Client) List(ctx context.Context, f Filter) ([]Item, error) {
	return answerTo[[]Item](ctx, c, "list", f)
}

func (c *Client) Show(ctx context.Context, id string) (Item, error) {
	return answerTo[Item](ctx, c, "show", id)
}

func (c *Client) Retry(ctx context.Context, id string) error { return c.tell(ctx, "retry", id) }

func (c *Client) Drop(ctx context.Context, id string) error { return c.tell(ctx, "drop", id) }

func (c *Client) Decide(ctx context.Context, id string, yes bool) error {
	return c.tell(ctx, "decide", decision{id, yes})
}

func (c *Client) Send(ctx context.Context, s Send) (Item, error) {
	return changeTo[Item](ctx, c, "send", s)
}

func (c *Client) Chats(ctx context.Context, channelName string) ([]channel.Chat, error) {
	return answerTo[[]channel.Chat](ctx, c, "chats", channelName)
}

func (c *Client) Reload(ctx context.Context, remove bool) (Reloaded, error) {
	return changeTo[Reloaded](ctx, c, "reload", remove)
}

func (c *Client) PairingCodes(ctx context.Context) ([]PairingCode, error) {
	return answerTo[[]PairingCode](ctx, c, "pairing", nil)
}

func (c *Client) ApprovePairing(ctx context.Context, code string) error {
	return c.tell(ctx, "approve", code)
}

func (c *Client) Tasks(ctx context.Context, group string) ([]tasks.Task, error) {
	return answerTo[[]tasks.Task](ctx, c, "tasks", group)
}

func (c *Client) OperateTask(ctx context.Context, id, verb string) (tasks.Answer, error) {
	return changeTo[tasks.Answer](ctx, c, "operate-task", taskVerb{id, verb})
}

func (c *Client) Links(ctx context.Context, group string) ([]Link, error) {
	return answerTo[[]Link](ctx, c, "links", group)
}

func (c *Client) RevokeLink(ctx context.Context, id string) error {
	return c.tell(ctx, "revoke-link", id)
}

func (c *Client) Findings(ctx context.Context, deep bool) ([]finding.Finding, error) {
	return viewOf[[]finding.Finding](ctx, c, "findings", deep)
}

func (c *Client) StopAssistant(ctx context.Context, folder string) (Stopped, error) {
	return changeTo[Stopped](ctx, c, "stop", folder)
}

func (c *Client) Link(ctx context.Context, channelName string) (Linking, error) {
	return changeTo[Linking](ctx, c, "link", channelName)
}

func (c *Client) Unpair(ctx context.Context, channelName string) error {
	return c.tell(ctx, "unpair", channelName)
}

func (c *Client) PageURL(ctx context.Context) (PageURL, error) {
	return answerTo[PageURL](ctx, c, "page", nil)
}

func (c *Client) Log(ctx context.Context, q LogQuery) (LogPage, error) {
	return answerTo[LogPage](ctx, c, "log", q)
}

func (c *Client) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	return answerTo[AuditPage](ctx, c, "audit", q)
}

func (c *Client) NotifyTest(ctx context.Context) ([]Notified, error) {
	return changeTo[[]Notified](ctx, c, "notify-test", nil)
}

func (c *Client) Tokens(ctx context.Context) ([]tokens.Token, error) {
	return answerTo[[]tokens.Token](ctx, c, "tokens", nil)
}

func (c *Client) MakeToken(ctx context.Context, o TokenOrder) (tokens.NewToken, error) {
	return changeTo[tokens.NewToken](ctx, c, "make-token", o)
}

func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.tell(ctx, "revoke-token", id)
}

func answerTo[Out any](ctx context.Context, c *Client, name string, in any) (out Out, err error) {
	return out, c.call(ctx, "POST", "/v1/"+name, in, &out)
}

// viewOf is answerTo for what a host answers within an examination's time.
func viewOf[Out any](ctx context.Context, c *Client, name string, in any) (out Out, err error) {
	short, cancel := context.WithTimeout(ctx, ExamineTime+4*time.Second)
	defer cancel()
	if out, err = answerTo[Out](short, c, name, in); err != nil && short.Err() != nil && ctx.Err() == nil {
		err = ErrSilent
	}
	return out, err
}

func changeTo[Out any](ctx context.Context, c *Client, name string, in any) (out Out, err error) {
	return out, c.change(ctx, name, in, &out)
}

func (c *Client) tell(ctx context.Context, name string, in any) error {
	return c.change(ctx, name, in, nil)
}
