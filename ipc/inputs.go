package ipc

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Input is a follow-up message for a running assistant.
type Input struct {
	Name string // file name
	Text string // empty if the file holds no readable text
}

// Inputs returns the follow-up messages that are not in known, oldest first, and
// whether the host asks the assistant to end (_close). It blocks until there is a
// message or such a request, or until ctx ends. A message stays in the directory
// until [Client.TakeInput].
func (c *Client) Inputs(ctx context.Context, known map[string]bool) (inputs []Input, closed bool, err error) {
	hint, stop := hints(c.path(InputDir), func(name string) bool { return IsRequest(name) || name == closeFile })
	defer stop()
	tick := time.Tick(clientPoll)
	for {
		inputs, closed, err = c.listInputs(known)
		if len(inputs) > 0 || closed || err != nil {
			return inputs, closed, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-hint:
		case <-tick:
		}
	}
}

func (c *Client) listInputs(known map[string]bool) (inputs []Input, closed bool, err error) {
	entries, err := safefs.ReadDir(c.path(InputDir)) // sorted
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		closed = closed || e.Name() == closeFile
		if !IsRequest(e.Name()) || known[e.Name()] {
			continue
		}
		var in input
		found := Input{Name: e.Name()}
		if c.readJSON(&in, InputDir, e.Name()) == nil && in.Type == "message" && strings.TrimSpace(in.Text) != "" {
			found.Text = in.Text
		}
		inputs = append(inputs, found)
	}
	return inputs, closed, nil
}

// TakeInput deletes a follow-up message. The deletion tells the host that the
// assistant has the message. An error means that the file stays and Inputs will
// return it again.
func (c *Client) TakeInput(name string) error { return os.Remove(c.path(InputDir, name)) }

// ClearClose deletes the host's request to end: after the assistant has followed it,
// or if an earlier run left it behind. It is no error if there is none.
func (c *Client) ClearClose() error {
	err := os.Remove(c.path(InputDir, closeFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
