package cli

import (
	"context"
	"math"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// act runs the commands that do something else than send.
func (c *call) act(name string, args []string) int {
	set := flags(name)
	var o common
	var q sender.Question
	var f sender.File
	o.register(set)
	switch name {
	case "ask":
		set.BoolVar(&q.Several, "several", false, "")
		set.DurationVar(&q.Open, "open", 0, "")
	case "pdf":
		set.StringVar(&f.Caption, "caption", "", "")
		set.StringVar(&f.Name, "name", "", "")
	}
	least, most := arguments(name)
	words, status, done := c.parse(set, args, least, most)
	if done {
		return status
	}
	return c.deliver(o, func(ctx context.Context, s *sender.Sender) (sender.Report, error) {
		switch name {
		case "react":
			return s.React(ctx, words[0], words[1], o.options())
		case "edit":
			return s.Edit(ctx, words[0], words[1], o.options())
		case "unsend":
			return s.Unsend(ctx, words[0], o.options())
		case "pdf":
			return s.SendPDF(ctx, sender.Document{Path: words[0]}, f, o.options())
		case "tasks":
			return s.Call(ctx, "schedule", ipc.Request{Type: ipc.TypeListTasks})
		}
		q.Text, q.Choices, q.Open = words[0], words[1:], q.Open.Round(time.Second)
		return s.Ask(ctx, q, o.options())
	})
}

// arguments is how many a command of act takes.
func arguments(name string) (least, most int) {
	switch name {
	case "react", "edit":
		return 2, 2
	case "unsend", "pdf":
		return 1, 1
	case "tasks":
		return 0, 0
	}
	return 3, math.MaxInt
}
