package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

const (
	idleTime    = 30 * 24 * time.Hour // a session ends after this time without use
	longest     = 90 * 24 * time.Hour // a session ends after this time in any case
	usedStep    = time.Hour           // how late its use may be recorded
	maxSessions = 1000                // beyond it one ends
	idleEnough  = 24 * time.Hour      // after this time without use a session may be ended to make room
)

// Session is one browser that showed the token. Browsers send its cookie to every port of
// the host name. So a request that reads or writes must show the session's key too, which
// the browser keeps for this port alone.
type Session struct {
	id, key httpd.Digest
	made    time.Time
	gone    chan struct{} // closed once it has ended

	used     time.Time // guarded by sessions.mu, as the next
	recorded time.Time // used, as the disk has it
}

// ID identifies the session in the state. It is no secret.
func (s *Session) ID() []byte { return s.id[:] }

// Gone is closed once the session has ended. It is nil without a session.
func (s *Session) Gone() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.gone
}

// opens compares key with the session's in constant time.
func (s *Session) opens(key string) bool { return httpd.DigestOf(key).Is(s.key) }

func (s *Session) over(now time.Time) bool {
	return now.Sub(s.used) >= idleTime || now.Sub(s.made) >= longest
}

// sessions are a channel's sessions that have not ended, in memory and on disk.
type sessions struct {
	db      *state.DB
	channel string
	token   []byte // the mark of the token in use

	mu  sync.Mutex
	all map[httpd.Digest]*Session
}

// open loads the sessions, and ends those that have expired or began with another token.
func open(ctx context.Context, db *state.DB, channel, token string) (*sessions, error) {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("longshore web session 2"))
	ss := &sessions{db: db, channel: channel, token: mac.Sum(nil), all: map[httpd.Digest]*Session{}}
	now := time.Now()
	if err := exec(ctx, db, "DELETE FROM page_session WHERE channel = ? AND (token <> ? OR used < ? OR made < ?)",
		channel, ss.token, now.Add(-idleTime).UnixMilli(), now.Add(-longest).UnixMilli()); err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT id, key, made, used FROM page_session WHERE channel = ?", channel)
	all, err := state.All(rows, err, scan)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", store.Words(err))
	}
	for _, s := range all {
		ss.all[s.id] = s
	}
	return ss, nil
}

func scan(rows *sql.Rows) (*Session, error) {
	var id, key []byte
	var made, used int64
	if err := rows.Scan(&id, &key, &made, &used); err != nil {
		return nil, err
	}
	at := time.UnixMilli(used)
	s := &Session{made: time.UnixMilli(made), used: at, recorded: at, gone: make(chan struct{})}
	copy(s.id[:], id)
	copy(s.key[:], key)
	return s, nil
}

// Forget deletes the sessions of a channel that is not configured, from before a time.
func Forget(ctx context.Context, db *state.DB, channel string, before time.Time) error {
	return exec(ctx, db, "DELETE FROM page_session WHERE channel = ? AND made < ?", channel, before.UnixMilli())
}

// begin creates a session and returns its two secrets.
func (ss *sessions) begin(ctx context.Context) (cookie, key string, err error) {
	now := time.Now()
	cookie, key = rand.Text(), rand.Text()
	s := &Session{id: httpd.DigestOf(cookie), key: httpd.DigestOf(key), made: now, used: now, recorded: now, gone: make(chan struct{})}
	if err := exec(ctx, ss.db, "INSERT INTO page_session (id, channel, key, token, made, used) VALUES (?, ?, ?, ?, ?, ?)",
		s.id[:], ss.channel, s.key[:], ss.token, now.UnixMilli(), now.UnixMilli()); err != nil {
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
func (ss *sessions) surplus(begins *Session, now time.Time) (out []*Session) {
	var oldest, newest *Session
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
		return []*Session{newest}
	}
	return []*Session{oldest}
}

// find returns the session of a cookie and marks it as used; nil if there is none.
func (ss *sessions) find(ctx context.Context, cookie string) *Session {
	ss.mu.Lock()
	s := ss.all[httpd.DigestOf(cookie)]
	ss.mu.Unlock()
	if s == nil || !ss.use(ctx, s) {
		return nil
	}
	return s
}

// use marks a session as used, unless it has ended. It also records the use if the last
// record is old; if the disk fails, the session ends early and nothing else happens.
func (ss *sessions) use(ctx context.Context, s *Session) bool {
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
		_ = exec(ctx, ss.db, "UPDATE page_session SET used = ? WHERE id = ?", now.UnixMilli(), s.id[:])
	}
	return !over
}

// end ends a session and its event streams.
func (ss *sessions) end(ctx context.Context, s *Session) error {
	ss.mu.Lock()
	if ss.all[s.id] == s {
		delete(ss.all, s.id)
		close(s.gone)
	}
	ss.mu.Unlock()
	return exec(ctx, ss.db, "DELETE FROM page_session WHERE id = ?", s.id[:])
}

// lives reports whether the session with an ID has not ended.
func (ss *sessions) lives(id []byte) bool {
	var key httpd.Digest
	copy(key[:], id)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.all[key]
	return s != nil && !s.over(time.Now())
}

func exec(ctx context.Context, db *state.DB, query string, args ...any) error {
	if _, err := db.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("write sessions: %w", store.Words(err))
	}
	return nil
}
