package command

import (
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/operator"
)

// One large file held up a group's queue for ever, and why said that nothing stops the answer.
func TestAQueueBehindAFileThatHasNoRoomWasNothingToWhy(t *testing.T) {
	for folder, stops := range map[string]bool{"family": true, "work": false} {
		w := &path{group: groups.Group{Folder: folder}, status: operator.Status{
			Faults: []operator.Fault{{Name: operator.FaultStuck, About: "group family", Message: "no room for 5.5 MB"}},
		}}
		if w.queue(t.Context()); w.stopped != stops {
			t.Errorf("%s: %+v", folder, w.steps)
		}
	}
}
