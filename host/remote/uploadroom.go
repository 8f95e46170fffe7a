package remote

import (
	"errors"
	"net/http"
	"time"

	"github.com/longshore-bridge/longshore/host/channel/httpd"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// maxUnsent is how many uploads a group may have in all, of which many may have no bytes.
const maxUnsent = 1000

// uploadIdle is how long after its last byte an unfinished upload gives way to a new one, if the
// group may have no further one.
const uploadIdle = 10 * time.Minute

// roomFor refuses an upload that the group may not begin. If only the number of unfinished ones
// stands in the way, one that has stopped gives way. The caller holds uploads.begins.
func (d *Server) roomFor(folder string, length int64) error {
	open, all, kept, err := d.held(folder)
	switch {
	case err != nil:
		return err
	case all >= maxUnsent:
		return errBusy
	case length > d.Live.Quota()-kept:
		return httpd.Refuse(http.StatusRequestEntityTooLarge, ipc.CodeTooLarge, "the group's uploads may have "+media.Size(d.Live.Quota())+" together", "send what is uploaded, or wait until it is gone")
	case open < d.Limits.Uploads:
		return nil
	}
	way, err := d.giveWay(folder)
	if err == nil && !way {
		err = errBusy
	}
	return err
}

// giveWay deletes the group's unfinished upload that has had no byte for the longest time. It
// returns false if each is being written, or has had a byte lately.
func (d *Server) giveWay(folder string) (bool, error) {
	stopped, since := "", time.Now().Add(-uploadIdle)
	err := d.eachUpload(d.uploadDir(), func(name string, u upload, last time.Time) error {
		if u.Folder == folder && !u.Whole && last.Before(since) && !d.uploads.has(name) {
			stopped, since = name, last
		}
		return nil
	})
	if err != nil || stopped == "" || !d.uploads.begin(stopped) {
		return false, err
	}
	defer d.uploads.end(stopped)
	return true, errors.Join(remove(d.partOf(stopped)), remove(d.metaOf(stopped)))
}

// held is how many uploads of a group are not whole, how many are not sent, and the bytes
// of all that it promised.
func (d *Server) held(folder string) (open, all int, kept int64, err error) {
	return open, all, kept, d.eachUpload(d.uploadDir(), func(_ string, u upload, _ time.Time) error {
		if u.Folder == folder {
			all++
			kept += u.Length
			if !u.Whole {
				open++
			}
		}
		return nil
	})
}
