package bridge

import (
	"time"

	"github.com/longshore-bridge/longshore/groups"
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
// permit. info is of the file as the chat gets it.
func (d destination) permit(info media.Info) error {
	_, err := d.source.Judge(groups.Exit{To: d.address(), File: &info}, d.now)
	return err
}
