package webpush

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/wake"
)

// service is one of Settings.Services, and what waits for it.
type service struct {
	host   string // a name, or a suffix with its dot
	origin string // instead of host: scheme://host:port

	mu      sync.Mutex
	waiting []*job
	wake    chan struct{}
}

func servicesOf(names []string) (all []*service) {
	for _, name := range names {
		s := &service{host: strings.ToLower(name), wake: make(chan struct{}, 1)}
		if strings.Contains(name, "://") {
			s.host, s.origin = "", authority(name)
		}
		all = append(all, s)
	}
	return all
}

// authority returns the scheme, host and port of an address.
func authority(address string) string {
	u, err := url.Parse(strings.ToLower(address))
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Hostname() + ":" + cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// find returns the service of an endpoint, or nil if no listed service matches.
func find(all []*service, endpoint string) *service {
	u := endpointURL(endpoint)
	if u == nil {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	for _, s := range all {
		switch {
		case s.origin != "":
			if authority(endpoint) == s.origin {
				return s
			}
		case u.Scheme != "https" || u.Port() != "" && u.Port() != "443":
		case host == s.host, strings.HasPrefix(s.host, ".") && strings.HasSuffix(host, s.host):
			return s
		}
	}
	return nil
}

// job is one notification for one browser.
type job struct {
	to    subscription
	what  *notice
	tries int
	due   time.Time
}

// add enqueues a job, and discards an older one for the same browser and chat.
func (s *service) add(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(j); i >= 0 {
		s.waiting[i] = j
		return
	}
	s.append(j)
}

// retry enqueues a job again after wait, unless a newer one for its browser and chat waits.
func (s *service) retry(j *job, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index(j) < 0 {
		j.tries, j.due = j.tries+1, time.Now().Add(wait)
		s.append(j)
	}
}

// index returns the index of the job for the same browser and chat, or -1. The caller
// holds mu, and so does the caller of append.
func (s *service) index(j *job) int {
	return slices.IndexFunc(s.waiting, func(o *job) bool { return o.to.Endpoint == j.to.Endpoint && o.what.Chat == j.what.Chat })
}

func (s *service) append(j *job) {
	if len(s.waiting) >= maxWaiting {
		s.waiting = s.waiting[1:]
	}
	s.waiting = append(s.waiting, j)
	wake.Up(s.wake)
}

// next returns the first job that is due, or how long to wait for one; 0 if none waits.
func (s *service) next(now time.Time) (j *job, wait time.Duration) {
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
