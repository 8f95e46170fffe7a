package agent

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/longshore-bridge/longshore/ipc"
)

// conversation connects the agent and the host during one Run.
type conversation struct {
	agent  Agent
	client *ipc.Client
	stdout io.Writer
	mu     sync.Mutex // one output at a time
	used   *Usage     // since the last output but waiting; guarded by mu
	taken  []string   // names of the follow-ups taken since the last output; never nil
}

// turn runs one turn of the agent and meanwhile offers it the follow-ups that
// arrive.
func (c *conversation) turn(ctx context.Context, t Turn) (Reply, error) {
	followUps := make(chan FollowUp)
	t.FollowUps = followUps
	var feeding sync.WaitGroup
	defer feeding.Wait()
	running, end := context.WithCancel(ctx)
	defer end()
	feeding.Go(func() { c.feed(running, followUps) })
	return c.agent.Turn(ctx, t)
}

// feed offers each follow-up once. It ends when the turn ends or the host asks to
// close; follow-ups after that are not read. If input/ cannot be read, feed ends and
// next returns the error.
func (c *conversation) feed(ctx context.Context, to chan<- FollowUp) {
	offered := map[string]bool{}
	for closed := false; !closed; {
		inputs, mark, err := c.client.Inputs(ctx, offered)
		if err != nil {
			return
		}
		for _, in := range inputs {
			offered[in.Name] = true
			if in.Text == "" {
				continue
			}
			select {
			case to <- FollowUp{Text: in.Text, Taken: func() error { return c.take(in.Name) }}:
			case <-ctx.Done():
				return
			}
		}
		closed = mark
	}
}

// next waits for follow-ups between turns and takes them as the next prompt. closed
// means that no more will follow.
func (c *conversation) next(ctx context.Context) (prompt string, closed bool, err error) {
	for prompt == "" && !closed && err == nil {
		var inputs []ipc.Input
		inputs, closed, err = c.client.Inputs(ctx, nil)
		var texts []string
		for _, in := range inputs {
			if err := c.take(in.Name); err != nil {
				return "", false, err
			}
			if in.Text != "" {
				texts = append(texts, in.Text)
			}
		}
		prompt = strings.Join(texts, "\n")
	}
	if closed {
		err = c.client.ClearClose()
	}
	return prompt, closed, err
}

func (c *conversation) take(name string) error {
	if err := c.client.TakeInput(name); err != nil {
		return err
	}
	c.taken = append(c.taken, name)
	return nil
}

func (c *conversation) say(r Reply) error {
	o := output{Status: "success", Session: r.Session}
	if r.Text != "" {
		o.Result = &r.Text
	}
	return c.tell(o)
}

func (c *conversation) tell(o output) error {
	o.Inputs, c.taken = c.taken, []string{}
	return c.write(o)
}

// trouble reports what keeps the model from answering. A report that cannot be
// written is lost; the answer meets the same error.
func (c *conversation) trouble(t Trouble) {
	_ = c.write(output{Status: "waiting", Cause: t.Cause, Error: cut(t.Detail), Seconds: int(t.For.Seconds()), Inputs: []string{}})
}

func (c *conversation) write(o output) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Status != "waiting" {
		o.Usage, c.used = c.used, nil
	}
	return writeOutput(c.stdout, o)
}

// use adds to what the next output reports.
func (c *conversation) use(u Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used != nil {
		u = u.plus(*c.used)
	}
	c.used = &u
}
