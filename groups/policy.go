package groups

import (
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// CodeNeedsApproval is the code of what would have to wait for a person's yes, and cannot.
const CodeNeedsApproval = "needs_approval"

// Exit is one thing that makes words or a file appear in a chat in a group's name: a
// message, a file or its link, an edit, a reaction, a question, or a task.
type Exit struct {
	To   Address     // the chat
	File *media.Info // as the chat gets it; nil: words or a mark
}

// Judge is the operator's policy for a group. Every exit asks it, at the place where it is
// acted on. asks is the rule of approve because of which a person is asked first; empty:
// none. The error is a refusal by may_send. now is in the group's time zone.
func (g Group) Judge(e Exit, now time.Time) (asks string, err error) {
	if e.File != nil {
		if err := g.MaySend.permit(e.File, now); err != nil {
			return "", err
		}
	}
	if g.Approve.Foreign && e.To != g.Address() {
		return "approve.foreign", nil
	}
	if e.File != nil {
		return g.Approve.File(string(e.File.Kind), e.File.Size), nil
	}
	return "", nil
}

// permit refuses a file that the policy does not permit, and names the rule.
func (m MaySend) permit(f *media.Info, now time.Time) error {
	switch {
	case !m.Kind(string(f.Kind)):
		return &refusal.Error{
			Code:    "kind_not_allowed",
			Message: fmt.Sprintf("%q would go as %s, and this group may send only %s (rule may_send.kinds)", f.Name, f.Kind, strings.Join(m.Kinds, ", ")),
			Hint:    "send it as one of those, or ask the operator",
		}
	case m.Most > 0 && f.Size > int64(m.Most):
		return &refusal.Error{
			Code:    "size_not_allowed",
			Message: fmt.Sprintf("%q has %s, and this group may send %s (rule may_send.most)", f.Name, media.Size(f.Size), media.Size(int64(m.Most))),
			Hint:    "make it smaller or send less, or ask the operator",
		}
	case !m.Hours.Contain(now):
		return &refusal.Error{
			Code:    "outside_hours",
			Message: fmt.Sprintf("this group sends files at %s only, and it is %s (rule may_send.hours)", m.Hours, now.Format("15:04 MST")),
			Hint:    "send it at those hours; texts go at any time",
		}
	}
	return nil
}

// MayTask is the reason why a group may have no task in the chat of another one, or nil. A
// task cannot wait for a yes: it would say its words at once. Errors are refusals.
func (r *Registry) MayTask(owner, folder string) error {
	if owner == folder {
		return nil
	}
	g, known := r.ByFolder(owner)
	to, there := r.ByFolder(folder)
	if !known || !there || !g.Main {
		return &refusal.Error{Code: CodeChatNotAllowed, Message: "this group may have no task in that chat", Hint: "schedule it in your own chat"}
	}
	asks, err := g.Judge(Exit{To: to.Address()}, time.Time{})
	if err == nil && asks != "" {
		err = &refusal.Error{
			Code:    CodeNeedsApproval,
			Message: fmt.Sprintf("words in another chat wait for a person's yes (rule %s), and a task there cannot wait", asks),
			Hint:    "schedule it in your own chat and have it send a message there, which waits; or ask the operator",
		}
	}
	return err
}

// TaskChat returns the group in whose chat a task runs that a group schedules: that of the
// chat claimed, or its own if claimed is empty. Errors are refusals.
func (r *Registry) TaskChat(folder, claimed string) (Group, error) {
	chat, err := r.AuthorizeCall(folder, claimed)
	if err != nil {
		return Group{}, err
	}
	to, _ := r.ByAddress(chat) // a call reaches the chats of groups only
	return to, r.MayTask(folder, to.Folder)
}
