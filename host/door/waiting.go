package door

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
	of map[string]map[string]int64 // by folder and id
}

// wait counts a call that is about to be submitted. The error is errBusy if the group's calls
// that wait have too many bytes with it, or are too many.
func (d *Door) wait(folder, id string, files []staged) error {
	n := int64(0)
	for _, f := range files {
		size, err := f.file.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return err
		}
		n += size
	}
	d.waiting.mu.Lock()
	defer d.waiting.mu.Unlock()
	all := d.waiting.of[folder]
	delete(all, id) // an attempt before this one
	if d.crowded(all, n) {
		d.forgetTaken(folder, all)
	}
	if d.crowded(all, n) {
		return errBusy
	}
	if d.waiting.of == nil {
		d.waiting.of = map[string]map[string]int64{}
	}
	if all == nil {
		all = map[string]int64{}
		d.waiting.of[folder] = all
	}
	all[id] = n
	return nil
}

// crowded says that another call of n bytes is too much.
func (d *Door) crowded(all map[string]int64, n int64) bool {
	for _, size := range all {
		n += size
	}
	return len(all) >= maxWaiting || n > d.Quota()
}

// forgetTaken removes the copies of calls that the host has accepted or refused, whose callers
// have not asked for the result. The caller holds waiting.mu.
func (d *Door) forgetTaken(folder string, all map[string]int64) {
	for id := range all {
		r, ok := d.Spool.Result(folder, id)
		if !ok || r.Channel == "" && !r.Status.Final() {
			continue
		}
		if err := d.Spool.Unstage(folder, id); err != nil {
			d.Log.Warn("staged file not removed", "group", folder, "request", id, "error", err)
			continue
		}
		delete(all, id)
	}
}

// release removes the copies of a call that no longer needs them.
func (d *Door) release(folder, id string) error {
	d.waiting.mu.Lock()
	defer d.waiting.mu.Unlock()
	if err := d.Spool.Unstage(folder, id); err != nil {
		return err
	}
	if delete(d.waiting.of[folder], id); len(d.waiting.of[folder]) == 0 {
		delete(d.waiting.of, folder)
	}
	return nil
}
