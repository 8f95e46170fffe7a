package intake

import (
	"errors"
	"sync"
)

// MaxBodies is how many large bodies of a group may come at the same time, and how many more may
// be in memory while their calls wait for results.
const MaxBodies = 4

// Bodies count the large bodies that come, and their bytes.
type Bodies struct {
	quota Quota
	disk  Disk

	mu    sync.Mutex
	open  map[string]int // by folder
	stay  map[string]int // of calls that wait for their results
	bytes map[string]int64
}

// Body is the place of one large body, and the room that it has taken.
type Body struct {
	all      *Bodies
	folder   string
	stays    bool // it is counted in Bodies.stay, not in open
	n        int64
	left     int64 // of the room that is reserved
	releases []func()
}

// Quota is how many bytes a group's bodies may have that come at the same time.
type Quota interface{ Quota() int64 }

// Disk has room for temporary files.
type Disk interface {
	// Reserve promises n bytes until release.
	Reserve(n int64) (release func(), err error)
}

// NewBodies returns the count of no bodies.
func NewBodies(q Quota, d Disk) *Bodies {
	return &Bodies{quota: q, disk: d, open: map[string]int{}, stay: map[string]int{}, bytes: map[string]int64{}}
}

// Begin gives a body its place, until End. It returns nil if the group has too many.
func (all *Bodies) Begin(folder string) *Body {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[folder] >= MaxBodies {
		return nil
	}
	all.open[folder]++
	return &Body{all: all, folder: folder}
}

// Counts returns how many bodies of a group come, how many others are in memory, and the bytes
// of all.
func (all *Bodies) Counts(folder string) (open, stay int, bytes int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.open[folder], all.stay[folder], all.bytes[folder]
}

// Stay gives the place to the next body while the call waits for its result, although the body
// is in memory until the call is answered. It returns false if too many of the group's bodies
// are: the call must be answered without a wait.
func (b *Body) Stay() bool {
	all := b.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if !b.stays && all.stay[b.folder] < MaxBodies {
		b.stays = true
		all.stay[b.folder]++
		lower(all.open, b.folder)
	}
	return b.stays
}

func lower(counts map[string]int, folder string) {
	if counts[folder]--; counts[folder] == 0 {
		delete(counts, folder)
	}
}

// chunk is how much room is taken at once.
const chunk = 1 << 20

// Errors of Body.Write.
var (
	ErrQuota  = errors.New("the bodies of the group are too large")
	ErrNoRoom = errors.New("the disk has no room")
)

// Write takes room for bytes that have come. It keeps none of them.
func (b *Body) Write(p []byte) (int, error) {
	for b.left < int64(len(p)) {
		release, err := b.all.disk.Reserve(chunk)
		if err != nil {
			return 0, errors.Join(ErrNoRoom, err)
		}
		b.releases = append(b.releases, release)
		b.left += chunk
	}
	b.left -= int64(len(p))
	b.n += int64(len(p))
	all := b.all
	all.mu.Lock()
	defer all.mu.Unlock()
	all.bytes[b.folder] += int64(len(p))
	if all.bytes[b.folder] > all.quota.Quota() {
		return 0, ErrQuota
	}
	return len(p), nil
}

// End gives the place and the room back.
func (b *Body) End() {
	all := b.all
	all.mu.Lock()
	if all.bytes[b.folder] -= b.n; all.bytes[b.folder] == 0 {
		delete(all.bytes, b.folder)
	}
	if b.stays {
		lower(all.stay, b.folder)
	} else {
		lower(all.open, b.folder)
	}
	all.mu.Unlock()
	for _, release := range b.releases {
		release()
	}
}
