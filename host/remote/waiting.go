package remote

import (
	"io"
	"sync"
)

// maxWaiting is how many calls of a group may wait for the host to accept them.
const maxWaiting = 1000

// waiting are the calls that were submitted, and the bytes of their copies in the queue,
// until the host has accepted or refused them. The zero waiting has none. It begins anew
// with the host.
type waiting struct {
	mu sync.Mutex
	of map[string]map[string]waitingCall // by folder and id
}

// waitingCall is a call that is submitted, or about to be.
type waitingCall struct {
	size      int64 // bytes of its copies
	submitted bool
}

// sizeOf is how many bytes the files have. Each is read from its beginning after that.
func sizeOf(files []stagedFile) (n int64, _ error) {
	for _, f := range files {
		size, err := f.file.Seek(0, io.SeekEnd)
		if err != nil {
			return 0, err
		}
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}

// wait counts a call of n bytes that is about to be submitted: entered or release follows. The
// error is errBusy if the group's calls that wait have too many bytes with it, or are too many.
func (s *Server) wait(folder, id string, n int64) error {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	all := s.waiting.of[folder]
	delete(all, id) // an attempt before this one
	if s.crowded(all, n) {
		s.forgetTaken(folder, all)
	}
	if s.crowded(all, n) {
		return errBusy
	}
	if s.waiting.of == nil {
		s.waiting.of = map[string]map[string]waitingCall{}
	}
	if all == nil {
		all = map[string]waitingCall{}
		s.waiting.of[folder] = all
	}
	all[id] = waitingCall{size: n}
	return nil
}

// entered notes that a call is in the queue.
func (w *waiting) entered(folder, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.of[folder][id]; ok { // its result may have come already
		c.submitted = true
		w.of[folder][id] = c
	}
}

// crowded reports whether another call of n bytes is too much.
func (s *Server) crowded(all map[string]waitingCall, n int64) bool {
	for _, c := range all {
		n += c.size
	}
	return len(all) >= maxWaiting || n > s.Live.Quota()
}

// forgetTaken removes the copies of calls that the host has accepted or refused, whose callers
// have not asked for the result: they are no longer in the queue. The result may be gone too.
// The caller holds waiting.mu.
func (s *Server) forgetTaken(folder string, all map[string]waitingCall) {
	for id, c := range all {
		if !c.submitted || s.Spool.Waits(folder, id) {
			continue
		}
		if err := s.Spool.Unstage(folder, id); err != nil {
			s.Log.Warn("staged file not removed", "group", folder, "request", id, "error", err)
			continue
		}
		delete(all, id)
	}
}

// release removes the copies of a call that no longer needs them.
func (s *Server) release(folder, id string) error {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	if err := s.Spool.Unstage(folder, id); err != nil {
		return err
	}
	if delete(s.waiting.of[folder], id); len(s.waiting.of[folder]) == 0 {
		delete(s.waiting.of, folder)
	}
	return nil
}
