package serve

import (
	"fmt"
	"os"
	"sync"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// disk counts the temporary bytes that channels write beside the outbox,
// such as ciphertext on its way, so that together they leave the disk the room
// that the configuration wants.
type disk struct {
	dir  string
	keep interface {
		FreeDisk() int64 // bytes of the disk that stay free
	}

	mu       sync.Mutex
	reserved int64
}

// Reserve answers whether n bytes more may be written; release gives them back.
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

// recordRoom is how many bytes of the disk messages leave to the host's own
// records.
const recordRoom = 64 << 20

// Room answers whether a member's message may be kept: messages are small, and
// stay out of less of the disk than files.
func (s *disk) Room() error {
	volume, err := safefs.VolumeOf(s.dir)
	if free := int64(volume.Free); err == nil && free < min(recordRoom, s.keep.FreeDisk()) {
		return fmt.Errorf("only %s of disk are free", media.Size(free))
	}
	return nil
}

// fixedFree is a bound of the disk that does not change.
type fixedFree int64

func (f fixedFree) FreeDisk() int64 { return int64(f) }

// file makes an unnamed temporary file on the disk of the state directory. The caller
// closes it and then calls release.
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
