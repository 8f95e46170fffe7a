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
func (s *Server) roomFor(folder string, length int64) error {
	open, all, kept, err := s.held(folder)
	switch {
	case err != nil:
		return err
	case all >= maxUnsent:
		return errBusy
	case length > s.Live.Quota()-kept:
		return httpd.Refuse(http.StatusRequestEntityTooLarge, ipc.CodeTooLarge, "the group's uploads may have "+media.Size(s.Live.Quota())+" together", "send what is uploaded, or wait until it is gone")
	case open < s.Limits.Uploads:
		return nil
	}
	way, err := s.giveWay(folder)
	if err == nil && !way {
		err = errBusy
	}
	return err
}

// giveWay deletes the group's unfinished upload that has had no byte for the longest time. It
// returns false if each is being written, or has had a byte lately.
func (s *Server) giveWay(folder string) (bool, error) {
	stopped, since := "", time.Now().Add(-uploadIdle)
	err := s.eachUpload(s.uploadDir(), func(name string, u upload, last time.Time) error {
		if u.Folder == folder && !u.Whole && last.Before(since) && !s.uploads.has(name) {
			stopped, since = name, last
		}
		return nil
	})
	if err != nil || stopped == "" || !s.uploads.begin(stopped) {
		return false, err
	}
	defer s.uploads.end(stopped)
	return true, errors.Join(remove(s.partOf(stopped)), remove(s.metaOf(stopped)))
}

// held is how many uploads of a group are not whole, how many are not sent, and the bytes
// of all that it promised.
func (s *Server) held(folder string) (open, all int, kept int64, err error) {
	return open, all, kept, s.eachUpload(s.uploadDir(), func(_ string, u upload, _ time.Time) error {
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
