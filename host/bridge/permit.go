package bridge

import (
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// now is the time by which a group's hours are judged. A request's own time is the
// container's claim, and does not count.
func (b *Bridge) now(folder string) time.Time {
	if b.Zone == nil {
		return time.Now().UTC()
	}
	return time.Now().In(b.Zone(folder))
}

// permit refuses a file that the operator's policy for the source group does not
// permit, and names the rule. info is of the file as the chat gets it.
func (d destination) permit(info media.Info) error {
	switch {
	case !d.may.Kind(string(info.Kind)):
		return &ipc.Refusal{
			Code:    "kind_not_allowed",
			Message: fmt.Sprintf("%q would go as %s, and this group may send only %s (rule may_send.kinds)", info.Name, info.Kind, strings.Join(d.may.Kinds, ", ")),
			Hint:    "send it as one of those, or ask the operator",
		}
	case d.may.Most > 0 && info.Size > int64(d.may.Most):
		return &ipc.Refusal{
			Code:    "size_not_allowed",
			Message: fmt.Sprintf("%q has %s, and this group may send %s (rule may_send.most)", info.Name, media.Size(info.Size), media.Size(int64(d.may.Most))),
			Hint:    "make it smaller or send less, or ask the operator",
		}
	case !d.may.Hours.Contain(d.now):
		return &ipc.Refusal{
			Code:    "outside_hours",
			Message: fmt.Sprintf("this group sends files at %s only, and it is %s (rule may_send.hours)", d.may.Hours, d.now.Format("15:04 MST")),
			Hint:    "send it at those hours; texts go at any time",
		}
	}
	return nil
}
