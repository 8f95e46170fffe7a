package serve

import (
	"fmt"
	"os"
	"sync"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// disk counts the temporary bytes that channels write beside the outbox, such as ciphertext, so that
// together they leave limits.free_disk free.
type disk struct {
	dir  string
	keep interface {
		FreeDisk() int64 // bytes of the disk that stay free
	}

	mu       sync.Mutex
	reserved int64
}

// Reserve promises n bytes, or returns an error if the disk would become too full. release ends the
// promise; it may be called more than once.
func (s *disk) Reserve(n int64) (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	volume, err := safefs.VolumeOf(s.dir)
	if err == nil && int64(volume.Free)-s.reserved-n < s.keep.FreeDisk() {
		return nil, fmt.Errorf("%s of temporary space are not to be had: %s of disk are free, %s of it promised, and %s stay free",
			media.Size(n), media.Size(int64(volume.Free)), media.Size(s.reserved), media.Size(s.keep.FreeDisk()))
	}
	s.reserved += n
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.reserved -= n
	}), nil
}

// recordRoom is how many bytes of the disk members' messages leave for the host's own records.
const recordRoom = 64 << 20

// Room returns an error if the disk has no room for a member's message. Messages are small, so they
// may use more of the disk than files.
func (s *disk) Room() error {
	volume, err := safefs.VolumeOf(s.dir)
	if free := int64(volume.Free); err == nil && free < min(recordRoom, s.keep.FreeDisk()) {
		return fmt.Errorf("only %s of disk are free", media.Size(free))
	}
	return nil
}

// fixedFree is the bound of one configuration, for a disk without a host.
type fixedFree int64

func (f fixedFree) FreeDisk() int64 { return int64(f) }

// file makes an unnamed temporary file of so many bytes on the disk of the state directory. The caller
// closes the file and then calls release.
func (s *disk) file(bytes int64) (f *os.File, release func(), err error) {
	release, err = s.Reserve(bytes)
	if err != nil {
		return nil, nil, err
	}
	if f, err = os.CreateTemp(s.dir, ".temporary-*"); err == nil { // 0600
		err = os.Remove(f.Name())
	}
	if err != nil {
		release()
		return nil, nil, fmt.Errorf("make temporary file: %w", err)
	}
	return f, release, nil
}
