package tokens

import (
	"context"
	"fmt"
	"sync"

	"github.com/longshore-bridge/longshore/host/httpd"
)

// sessions are those of assistants that the host has started elsewhere. Their tokens are kept in
// memory alone: none outlives its session, or the host. The zero sessions has none.
type sessions struct {
	mu sync.Mutex
	of map[string]*session // by the token's id
}

// session has a listener that leads nowhere else, and a token that is valid only there.
type session struct {
	Identity
	hash  httpd.Digest
	calls sync.WaitGroup // that have begun over its listener; Add is called under sessions.mu
}

type sessionKey struct{}

// OpenSession makes a token that is valid until end, for requests whose context is below ctx
// alone; end returns when the last such request has ended. It returns an error if there is no
// such group.
func (t *Tokens) OpenSession(below context.Context, folder, thread string) (ctx context.Context, token string, end func(), err error) {
	if !t.known(folder) {
		return nil, "", nil, fmt.Errorf("there is no group %q", folder)
	}
	id, secret, hash := generate()
	s := &session{Identity: Identity{folder, thread, id}, hash: hash}
	t.sessions.add(s)
	return context.WithValue(below, sessionKey{}, s), tokenPrefix + id + "_" + secret, func() { t.sessions.remove(s) }, nil
}

func (s *sessions) add(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[string]*session{}
	}
	s.of[one.Token] = one
}

// remove refuses the session's token, and waits for its calls.
func (s *sessions) remove(one *session) {
	s.mu.Lock()
	delete(s.of, one.Token)
	s.mu.Unlock()
	one.calls.Wait()
}

// enter counts a request that came over a session's listener, until leave. One that comes after
// the session is not waited for: its token is refused.
func (s *sessions) enter(ctx context.Context) (leave func()) {
	one, _ := ctx.Value(sessionKey{}).(*session)
	s.mu.Lock()
	defer s.mu.Unlock()
	if one == nil || s.of[one.Token] != one {
		return func() {}
	}
	one.calls.Add(1)
	return one.calls.Done
}

// find returns the session of a token; the zero session, which no token matches, if there is none.
func (s *sessions) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.of[id]; one != nil {
		return one
	}
	return &session{}
}

// matches reports whether a secret is the session's and the request came over its listener.
func (s *session) matches(ctx context.Context, given httpd.Digest) bool {
	return s.hash.Is(given) && ctx.Value(sessionKey{}) == any(s)
}
