package console

import (
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	tokenAge    = 10 * time.Minute
	sessionIdle = 12 * time.Hour // a session ends after this time without use
	sessionAge  = 7 * 24 * time.Hour
	most        = 64 // tokens, and sessions; beyond it the oldest ends
)

// sessions are the tokens that were not used, and the browsers that used one. They end
// with the process. Only digests are kept, so that a comparison tells nothing by its
// time. The zero value is ready.
type sessions struct {
	mu     sync.Mutex
	tokens map[httpd.Digest]session
	keys   map[httpd.Digest]session
}

type session struct{ made, used time.Time }

// token returns a new token.
func (s *sessions) token() string {
	secret := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.tokens = added(s.tokens, secret)
	return secret
}

// begin ends a token and returns the key of a new session.
func (s *sessions) begin(token string) (key string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	id := httpd.DigestOf(token)
	if _, ok := s.tokens[id]; !ok {
		return "", false
	}
	delete(s.tokens, id)
	key = rand.Text()
	s.keys = added(s.keys, key)
	return key, true
}

// use reports whether a key is a session's, and notes its use.
func (s *sessions) use(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	one, ok := s.keys[httpd.DigestOf(key)]
	if ok {
		one.used = time.Now()
		s.keys[httpd.DigestOf(key)] = one
	}
	return ok
}

func (s *sessions) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, httpd.DigestOf(key))
}

// forget deletes what is too old. The caller holds mu.
func (s *sessions) forget() {
	now := time.Now()
	maps.DeleteFunc(s.tokens, func(_ httpd.Digest, t session) bool { return now.Sub(t.made) >= tokenAge })
	maps.DeleteFunc(s.keys, func(_ httpd.Digest, k session) bool {
		return now.Sub(k.made) >= sessionAge || now.Sub(k.used) >= sessionIdle
	})
}

// added returns all with one more secret, without the oldest if there are too many.
func added(all map[httpd.Digest]session, secret string) map[httpd.Digest]session {
	if all == nil {
		all = map[httpd.Digest]session{}
	}
	if len(all) >= most {
		var oldest httpd.Digest
		for id, one := range all {
			if first, ok := all[oldest]; !ok || one.made.Before(first.made) {
				oldest = id
			}
		}
		delete(all, oldest)
	}
	now := time.Now()
	all[httpd.DigestOf(secret)] = session{now, now}
	return all
}
