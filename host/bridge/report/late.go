package report

import (
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// LateToAssistant returns what an assistant reads of a failure after its tool has stopped
// waiting.
func LateToAssistant(r ipc.Result) string {
	words := fmt.Sprintf("delivery %s ended as %s after you stopped waiting: %s", r.ID, r.Status, r.Message)
	if r.Hint != "" {
		words += "; " + r.Hint
	}
	return words
}

// LateToMembers returns what the members of a chat read of such a failure.
func LateToMembers(d *outbox.Delivery, r ipc.Result) string {
	var names []string
	for _, f := range d.AllFiles() {
		names = append(names, f.Name)
	}
	what := "a message of the assistant"
	if len(names) > 0 {
		what = strings.Join(names[:min(len(names), 5)], ", ")
	}
	if r.Status == ipc.Uncertain {
		return "It is not certain that this arrived: " + what + ". " + r.Message
	}
	return "This could not be sent: " + what + ". " + r.Message
}
