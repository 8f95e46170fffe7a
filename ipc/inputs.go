package ipc

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// Input is a follow-up message for an assistant that runs.
type Input struct {
	Name string // of its file
	Text string // empty: the file holds none that can be read
}

// Inputs returns the follow-ups that have come, oldest first, but those that
// are known already, and whether the host wants the session closed. It blocks
// until there is one of both or ctx ends. Each stays until [Client.TakeInput].
func (c *Client) Inputs(ctx context.Context, known map[string]bool) (inputs []Input, closed bool, err error) {
	hint, stop := hints(c.path(InputDir), func(name string) bool { return isRequest(name) || name == closeFile })
	defer stop()
	tick := time.NewTicker(clientPoll)
	defer tick.Stop()
	for {
		inputs, closed, err = c.listInputs(known)
		if len(inputs) > 0 || closed || err != nil {
			return inputs, closed, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-hint:
		case <-tick.C:
		}
	}
}

func (c *Client) listInputs(known map[string]bool) (inputs []Input, closed bool, err error) {
	entries, err := os.ReadDir(c.path(InputDir)) // sorted
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
		if !isRequest(e.Name()) || known[e.Name()] {
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

// TakeInput deletes a follow-up, by which the host knows that the assistant
// has it. One that cannot be deleted is an error, as the assistant would hear
// it for ever.
func (c *Client) TakeInput(name string) error { return os.Remove(c.path(InputDir, name)) }

// ClearClose forgets a wish to close: one that a former session left behind,
// or that is followed.
func (c *Client) ClearClose() error {
	err := os.Remove(c.path(InputDir, closeFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
