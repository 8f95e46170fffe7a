package console

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"sync"
	"time"
)

const (
	tokenAge    = 10 * time.Minute
	sessionIdle = 12 * time.Hour // a session ends after this time without use
	sessionAge  = 7 * 24 * time.Hour
	most        = 64 // tokens, and sessions; beyond it the oldest ends
)

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// sessions are the tokens that were not used, and the browsers that used one. They end
// with the process. Only digests are kept, so that a comparison tells nothing by its
// time. The zero value is ready.
type sessions struct {
	mu     sync.Mutex
	tokens map[digest]session
	keys   map[digest]session
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
	id := digestOf(token)
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
	one, ok := s.keys[digestOf(key)]
	if ok {
		one.used = time.Now()
		s.keys[digestOf(key)] = one
	}
	return ok
}

func (s *sessions) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, digestOf(key))
}

// forget deletes what is too old. The caller holds mu.
func (s *sessions) forget() {
	now := time.Now()
	maps.DeleteFunc(s.tokens, func(_ digest, t session) bool { return now.Sub(t.made) >= tokenAge })
	maps.DeleteFunc(s.keys, func(_ digest, k session) bool {
		return now.Sub(k.made) >= sessionAge || now.Sub(k.used) >= sessionIdle
	})
}

// added returns all with one more secret, without the oldest if there are too many.
func added(all map[digest]session, secret string) map[digest]session {
	if all == nil {
		all = map[digest]session{}
	}
	if len(all) >= most {
		var oldest digest
		for id, one := range all {
			if first, ok := all[oldest]; !ok || one.made.Before(first.made) {
				oldest = id
			}
		}
		delete(all, oldest)
	}
	now := time.Now()
	all[digestOf(secret)] = session{now, now}
	return all
}
