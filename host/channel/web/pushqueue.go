package web

import (
	"slices"
	"sync"
	"time"
)

// pushService is one of Push.Services, and what waits for it.
type pushService struct {
	host   string // a name, or a suffix with its dot
	origin string // instead of host: scheme://host:port

	mu      sync.Mutex
	waiting []*pushJob
	wake    chan struct{}
}

// pushJob is one notification for one browser.
type pushJob struct {
	to    subscription
	what  *pushed
	tries int
	due   time.Time
}

// add enqueues a job, and discards an older one for the same browser and chat.
func (s *pushService) add(j *pushJob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(j); i >= 0 {
		s.waiting[i] = j
		return
	}
	s.append(j)
}

// retry enqueues a job again after wait, unless a newer one for its browser and chat waits.
func (s *pushService) retry(j *pushJob, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(j) < 0 {
		j.tries, j.due = j.tries+1, time.Now().Add(wait)
		s.append(j)
	}
}

// find returns the index of the job for the same browser and chat, or -1. The caller
// holds mu, and so does the caller of append.
func (s *pushService) find(j *pushJob) int {
	return slices.IndexFunc(s.waiting, func(o *pushJob) bool { return o.to.Endpoint == j.to.Endpoint && o.what.Chat == j.what.Chat })
}

func (s *pushService) append(j *pushJob) {
	if len(s.waiting) >= pushWaiting {
		s.waiting = s.waiting[1:]
	}
	s.waiting = append(s.waiting, j)
	poke(s.wake)
}

// next returns the first job that is due, or how long to wait for one; 0 if none waits.
func (s *pushService) next(now time.Time) (j *pushJob, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, j := range s.waiting {
		left := j.due.Sub(now)
		if left <= 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			return j, 0
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return nil, wait
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
