package sender

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
)

// Can returns what the host lets this group do in its chat, in the words of
// ipc.Context.Can. It is nil if the host is of an older version.
func (s *Sender) Can() []string { return s.host().context.Can }

// may returns a *Problem if the chat or the group's rights do not have an action.
func (s *Sender) may(action string) error {
	host := s.host()
	can := host.context.Can
	switch {
	case host.refused() != nil:
		return host.refused()
	case can == nil:
		return problem("not_supported", "this host cannot do that", "do without it; chat_info says what works here")
	case !slices.Contains(can, action):
		return problem("not_supported", action+" is not possible here: the chat's platform does not have it, or the operator does not allow it to this group",
			"do without it; chat_info says what this chat can do")
	}
	return nil
}

// React sets the assistant's reaction to a message of the chat. An empty emoji takes
// the reaction back. Errors are those of SendFiles.
func (s *Sender) React(ctx context.Context, target, emoji string, o Options) (Report, error) {
	return s.change(ctx, "react", ipc.Request{Type: ipc.TypeReact, Target: target, Emoji: emoji}, o)
}

// Edit replaces the text of a message that the assistant has sent. Errors are those
// of SendFiles.
func (s *Sender) Edit(ctx context.Context, target, text string, o Options) (Report, error) {
	if isBlank(text) {
		return Report{}, problem("invalid_argument", "the new text is empty", "give the whole new text; to delete the message, use unsend")
	}
	return s.change(ctx, "edit", ipc.Request{Type: ipc.TypeEdit, Target: target, Text: text}, o)
}

// Unsend deletes a message that the assistant has sent. Errors are those of
// SendFiles.
func (s *Sender) Unsend(ctx context.Context, target string, o Options) (Report, error) {
	return s.change(ctx, "unsend", ipc.Request{Type: ipc.TypeUnsend, Target: target}, o)
}

func (s *Sender) change(ctx context.Context, action string, req ipc.Request, o Options) (Report, error) {
	if err := s.may(action); err != nil {
		return Report{}, err
	}
	if isBlank(req.Target) {
		return Report{}, problem("invalid_argument", "the message is not named", "give the message's id, or the id that the send tool returned")
	}
	return s.deliver(ctx, s.addressed(req, o), []Part{{Kind: action}}, nil, o)
}

// Call asks the host something that it answers without the chat. The Report's Data
// holds the answer. action is the word of ipc.Context.Can that it needs. Errors are
// those of SendFiles.
func (s *Sender) Call(ctx context.Context, action string, req ipc.Request) (Report, error) {
	if err := s.may(action); err != nil {
		return Report{}, err
	}
	if req.Type == ipc.TypeFetchFile && !s.Fetches() {
		return Report{}, lacks("fetch_file", "the host's workspace is not shared with it; ask a member to send the file's content another way")
	}
	return s.deliver(ctx, s.addressed(req, Options{}), nil, nil, Options{})
}

// addressed adds the caller's chat, thread and turn to a request.
func (s *Sender) addressed(req ipc.Request, o Options) ipc.Request {
	to := s.request(req.Type, o)
	req.Chat, req.Folder, req.ReplyTo, req.Thread, req.Turn, req.Time = to.Chat, to.Folder, to.ReplyTo, to.Thread, to.Turn, to.Time
	return req
}

// Question is what Ask asks.
type Question struct {
	Text    string
	Choices []string
	Several bool          // a member may choose more than one
	Open    time.Duration // how long members may answer; 0: the host's default
	Wait    time.Duration // how long Ask waits for an answer; 0, or more than Config.Wait: Config.Wait
	NoWait  bool          // return once the question is asked
}

// answerPoll is how often Ask looks for an answer.
const answerPoll = 500 * time.Millisecond

// Ask puts a question with choices to the chat and waits for the first answer. The
// Report's Data says who answered what; without an answer in time, later answers are
// in Status. Errors are those of SendFiles.
func (s *Sender) Ask(ctx context.Context, q Question, o Options) (Report, error) {
	if err := s.may("ask"); err != nil {
		return Report{}, err
	}
	if q.Wait < 0 || q.Open < 0 {
		return Report{}, problem("invalid_argument", "a time is below zero", "give wait_seconds and open_seconds as whole seconds")
	}
	if o.Wait = s.config.Wait; q.Wait > 0 {
		o.Wait = min(o.Wait, q.Wait)
	}
	over := time.Now().Add(o.Wait)
	req := s.addressed(ipc.Request{Type: ipc.TypeAsk, Text: q.Text, Choices: q.Choices, Several: q.Several, Seconds: int(q.Open / time.Second)}, o)
	question := []Part{{Kind: "ask"}}
	report, err := s.deliver(ctx, req, question, nil, o)
	for err == nil && !o.NoWait && !q.NoWait && report.reached() && report.unanswered() && time.Now().Before(over) {
		if !wake.Sleep(ctx, answerPoll) {
			return report, nil
		}
		report, err = s.status(Report{ID: report.ID, Chat: req.Chat, Files: question})
	}
	return report, err
}
