package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// paced is a body of a bounded size that fails if it comes too slowly.
type paced struct {
	io.ReadCloser
	pacer
	ctx context.Context
	rc  *http.ResponseController
}

func (l Limits) pace(rw http.ResponseWriter, r *http.Request, most int64) io.Reader {
	return &paced{ReadCloser: http.MaxBytesReader(rw, r.Body, most), pacer: l.pacer(), ctx: r.Context(), rc: http.NewResponseController(rw)}
}

func (p *paced) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(p.due) // recorders of tests have none
	_ = p.rc.SetWriteDeadline(p.due.Add(p.limits.Grace))
	n, err := p.ReadCloser.Read(b)
	if revoked(p.ctx) {
		return 0, errNoToken
	}
	p.moved(n)
	return n, err
}

// maxBodies is how many large bodies of a group may come at the same time, and how many more may
// be in memory while their calls wait for results.
const maxBodies = 4

// bodies counts the large bodies that come, and their bytes. The zero bodies has none.
type bodies struct {
	mu    sync.Mutex
	open  map[string]int // by folder
	stay  map[string]int // of calls that wait for their results
	bytes map[string]int64
}

// body is the place of one large body, and the room that it has taken.
type body struct {
	door     *Server
	folder   string
	stays    bool // it is counted in bodies.stay, not in open
	n        int64
	left     int64 // of the room that is reserved
	releases []func()
}

// begin gives a body its place, which end gives back; nil: the group has too many.
func (d *Server) begin(folder string) *body {
	d.bodies.mu.Lock()
	defer d.bodies.mu.Unlock()
	if d.bodies.open[folder] >= maxBodies {
		return nil
	}
	if d.bodies.open == nil {
		d.bodies.open, d.bodies.stay, d.bodies.bytes = map[string]int{}, map[string]int{}, map[string]int64{}
	}
	d.bodies.open[folder]++
	return &body{door: d, folder: folder}
}

// stay gives the place to the next body while the call waits for its result, although the body
// is in memory until the call is answered. It returns false if too many of the group's bodies
// are: the call must be answered without a wait.
func (b *body) stay() bool {
	all := &b.door.bodies
	all.mu.Lock()
	defer all.mu.Unlock()
	if !b.stays && all.stay[b.folder] < maxBodies {
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

var (
	errQuota  = errors.New("the bodies of the group are too large")
	errNoRoom = errors.New("the disk has no room")
)

// Write takes room for bytes that have come. It keeps none of them.
func (b *body) Write(p []byte) (int, error) {
	for b.left < int64(len(p)) {
		release, err := b.door.Reserve(chunk)
		if err != nil {
			return 0, errors.Join(errNoRoom, err)
		}
		b.releases = append(b.releases, release)
		b.left += chunk
	}
	b.left -= int64(len(p))
	b.n += int64(len(p))
	all := &b.door.bodies
	all.mu.Lock()
	defer all.mu.Unlock()
	all.bytes[b.folder] += int64(len(p))
	if all.bytes[b.folder] > b.door.Quota() {
		return 0, errQuota
	}
	return len(p), nil
}

func (b *body) end() {
	all := &b.door.bodies
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
