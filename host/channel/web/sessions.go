package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

const (
	sessionIdle = 30 * 24 * time.Hour // a session ends after this time without use
	sessionAge  = 90 * 24 * time.Hour // a session ends after this time in any case
	usedStep    = time.Hour           // how late its use may be recorded
	maxSessions = 1000                // beyond it one ends
	idleEnough  = 24 * time.Hour      // after this time without use a session may be ended to make room
)

type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// session is one browser that showed the token. Browsers send its cookie to every port of
// the host name. So a request that reads or writes must show the session's key too, which
// the browser keeps for this port alone.
type session struct {
	id, key digest
	made    time.Time
	gone    chan struct{} // closed once it has ended

	used     time.Time // guarded by sessions.mu, as the next
	recorded time.Time // used, as the disk has it
}

// opens compares key with the session's in constant time.
func (s *session) opens(key string) bool {
	given := digestOf(key)
	return subtle.ConstantTimeCompare(given[:], s.key[:]) == 1
}

func (s *session) over(now time.Time) bool {
	return now.Sub(s.used) >= sessionIdle || now.Sub(s.made) >= sessionAge
}

// sessions are the sessions that have not ended, in memory and on disk.
type sessions struct {
	store *store
	token []byte // the mark of the token in use

	mu  sync.Mutex
	all map[digest]*session
}

// openSessions loads the sessions, and ends those that have expired or began with another
// token.
func openSessions(s *store, token string) (*sessions, error) {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("longshore web session 2"))
	ss := &sessions{store: s, token: mac.Sum(nil), all: map[digest]*session{}}
	now := time.Now()
	if err := s.dropSessions(ss.token, now.Add(-sessionIdle), now.Add(-sessionAge)); err != nil {
		return nil, err
	}
	all, err := s.sessions()
	for _, one := range all {
		ss.all[one.id] = one
	}
	return ss, err
}

// begin creates a session and returns its two secrets.
func (ss *sessions) begin(ctx context.Context) (cookie, key string, err error) {
	now := time.Now()
	cookie, key = rand.Text(), rand.Text()
	s := &session{id: digestOf(cookie), key: digestOf(key), made: now, used: now, recorded: now, gone: make(chan struct{})}
	if err := ss.store.addSession(ctx, s, ss.token); err != nil {
		return "", "", err
	}
	ss.mu.Lock()
	ss.all[s.id] = s
	surplus := ss.surplus(s, now)
	ss.mu.Unlock()
	for _, old := range surplus {
		if err := ss.end(ctx, old); err != nil {
			return "", "", err
		}
	}
	return cookie, key, nil
}

// surplus returns the expired sessions or, if there are too many sessions, the one to end:
// the least recently used or, if all are in use, the newest except the one that begins. So
// somebody who signs in without end ends only their own sessions. The caller holds mu.
func (ss *sessions) surplus(begins *session, now time.Time) (out []*session) {
	var oldest, newest *session
	for _, s := range ss.all {
		if s.over(now) {
			out = append(out, s)
		}
		if s == begins {
			continue
		}
		if oldest == nil || s.used.Before(oldest.used) {
			oldest = s
		}
		if newest == nil || s.made.After(newest.made) {
			newest = s
		}
	}
	if len(out) > 0 || len(ss.all) <= maxSessions {
		return out
	}
	if now.Sub(oldest.used) < idleEnough {
		return []*session{newest}
	}
	return []*session{oldest}
}

// find returns the session of a cookie and marks it as used; nil if there is none.
func (ss *sessions) find(ctx context.Context, cookie string) *session {
	ss.mu.Lock()
	s := ss.all[digestOf(cookie)]
	ss.mu.Unlock()
	if s == nil || !ss.use(ctx, s) {
		return nil
	}
	return s
}

// use marks a session as used, unless it has ended. It also records the use if the last
// record is old; if the disk fails, the session ends early and nothing else happens.
func (ss *sessions) use(ctx context.Context, s *session) bool {
	now := time.Now()
	ss.mu.Lock()
	over := ss.all[s.id] != s || s.over(now)
	record := !over && now.Sub(s.recorded) >= usedStep
	if !over {
		s.used = now
	}
	if record {
		s.recorded = now
	}
	ss.mu.Unlock()
	if over {
		_ = ss.end(ctx, s) // the next start deletes it otherwise
	}
	if record {
		_ = ss.store.useSession(ctx, s.id, now)
	}
	return !over
}

// end ends a session and its event streams.
func (ss *sessions) end(ctx context.Context, s *session) error {
	ss.mu.Lock()
	if ss.all[s.id] == s {
		delete(ss.all, s.id)
		close(s.gone)
	}
	ss.mu.Unlock()
	return ss.store.endSession(ctx, s.id)
}

func (s *store) sessions() ([]*session, error) {
	return list(context.Background(), s, func(rows *sql.Rows) (*session, error) {
		var id, key []byte
		var made, used int64
		if err := rows.Scan(&id, &key, &made, &used); err != nil {
			return nil, err
		}
		one := &session{made: time.UnixMilli(made), used: time.UnixMilli(used), recorded: time.UnixMilli(used), gone: make(chan struct{})}
		copy(one.id[:], id)
		copy(one.key[:], key)
		return one, nil
	}, "SELECT id, key, made, used FROM page_session WHERE channel = ?", s.name)
}

func (s *store) addSession(ctx context.Context, one *session, token []byte) error {
	return s.exec(ctx, "INSERT INTO page_session (id, channel, key, token, made, used) VALUES (?, ?, ?, ?, ?, ?)",
		one.id[:], s.name, one.key[:], token, one.made.UnixMilli(), one.used.UnixMilli())
}

func (s *store) useSession(ctx context.Context, id digest, now time.Time) error {
	return s.exec(ctx, "UPDATE page_session SET used = ? WHERE id = ?", now.UnixMilli(), id[:])
}

func (s *store) endSession(ctx context.Context, id digest) error {
	return s.endSessions(ctx, "DELETE FROM page_session WHERE id = ?", id[:])
}

func (s *store) dropSessions(token []byte, used, made time.Time) error {
	return s.endSessions(context.Background(), "DELETE FROM page_session WHERE channel = ? AND (token <> ? OR used < ? OR made < ?)",
		s.name, token, used.UnixMilli(), made.UnixMilli())
}

// endSessions deletes sessions, and the browsers that are notified by them.
func (s *store) endSessions(ctx context.Context, query string, args ...any) error {
	err := s.db.Do(ctx, func(t *state.Tx) error {
		if n, err := t.Changed(query, args...); err != nil || n == 0 {
			return err
		}
		_, err := t.Exec("DELETE FROM page_push WHERE channel = ? AND session IS NOT NULL AND session NOT IN (SELECT id FROM page_session)", s.name)
		return err
	}, nil)
	if err != nil {
		return writing(err)
	}
	return nil
}
