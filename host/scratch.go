package main

import (
	"fmt"
	"sync"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/media"
)

// scratch counts the temporary bytes that channels write beside the outbox,
// such as ciphertext on its way, so that together they leave the disk the room
// that the configuration wants.
type scratch struct {
	dir  string
	keep int64 // bytes of the disk that stay free

	mu       sync.Mutex
	reserved int64
}

// reserve answers whether n bytes more may be written; release gives them back.
func (s *scratch) reserve(n int64) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	disk := operator.DiskOf(s.dir)
	if disk.Total > 0 && int64(disk.Free)-s.reserved-n < s.keep {
		return nil, fmt.Errorf("%s of temporary space are not to be had: %s of disk are free, %s of it promised, and %s stay free",
			media.Size(n), media.Size(int64(disk.Free)), media.Size(s.reserved), media.Size(s.keep))
	}
	s.reserved += n
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reserved -= n
	}), nil
}
