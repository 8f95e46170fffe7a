package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

const (
	maxPush        = 1000 // browsers of all sessions
	maxSessionPush = 5    // browsers of one session; the oldest make room
)

var (
	errPushFull    = errors.New("too many browsers want to be notified") // beyond maxPush
	errSessionOver = errors.New("the session has ended")
)

// subscription is a browser that wants to be notified, as it describes itself.
type subscription struct {
	Endpoint     string
	session      []byte // nil: the page needs no token
	P256dh, Auth []byte
}

// pushKey returns the page's key, made at the first call.
func (s *store) pushKey(ctx context.Context) (*ecdsa.PrivateKey, error) {
	key, err := newPushKey()
	if err != nil {
		return nil, fmt.Errorf("make the page's push key: %w", err)
	}
	fresh, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the page's push key: %w", err)
	}
	if err := s.exec(ctx, "INSERT INTO page_push_key (channel, key) VALUES (?, ?) ON CONFLICT (channel) DO NOTHING", s.name, fresh); err != nil {
		return nil, err
	}
	kept, err := list(ctx, s, one[[]byte], "SELECT key FROM page_push_key WHERE channel = ?", s.name)
	if err != nil || len(kept) == 0 {
		return nil, errors.Join(err, errors.New("the page's push key is gone"))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(kept[0])
	if key, ok := parsed.(*ecdsa.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("read the page's push key: %w", err)
}

// addPush adds a browser, or changes its session and keys.
func (s *store) addPush(ctx context.Context, b subscription) error {
	err := s.db.Do(ctx, func(t *state.Tx) error {
		if _, err := t.Exec("DELETE FROM page_push WHERE channel = ? AND endpoint = ?", s.name, b.Endpoint); err != nil {
			return err
		}
		if b.session != nil {
			if _, err := t.Exec(`DELETE FROM page_push WHERE session = ?1 AND endpoint NOT IN
				(SELECT endpoint FROM page_push WHERE session = ?1 ORDER BY made DESC LIMIT ?2)`, b.session, maxSessionPush-1); err != nil {
				return err
			}
		}
		if b.session != nil { // it may have ended while the request came in
			rows, err := t.Query("SELECT used FROM page_session WHERE id = ?", b.session)
			if there, err := all(rows, err, one[int64]); err != nil || len(there) == 0 {
				return errors.Join(err, errSessionOver)
			}
		}
		n, err := t.Changed("INSERT INTO page_push (channel, endpoint, session, p256dh, auth, made) SELECT ?1,?2,?3,?4,?5,?6 WHERE (SELECT count(*) FROM page_push WHERE channel = ?1) < ?7",
			s.name, b.Endpoint, b.session, b.P256dh, b.Auth, time.Now().UnixMilli(), maxPush)
		if err == nil && n == 0 {
			err = errPushFull
		}
		return err
	}, nil)
	if err == nil || errors.Is(err, errPushFull) || errors.Is(err, errSessionOver) {
		return err
	}
	return writing(err)
}

// dropPush deletes a browser of the session.
func (s *store) dropPush(ctx context.Context, endpoint string, session []byte) error {
	return s.exec(ctx, "DELETE FROM page_push WHERE channel = ? AND endpoint = ? AND session IS NOT DISTINCT FROM ?", s.name, endpoint, session)
}

// dropOpenPush deletes the browsers from the time when the page needed no token.
func (s *store) dropOpenPush(ctx context.Context) error {
	return s.exec(ctx, "DELETE FROM page_push WHERE channel = ? AND session IS NULL", s.name)
}

func (s *store) allPush(ctx context.Context) ([]subscription, error) {
	return list(ctx, s, func(rows *sql.Rows) (one subscription, err error) {
		err = rows.Scan(&one.Endpoint, &one.session, &one.P256dh, &one.Auth)
		return one, err
	}, "SELECT endpoint, session, p256dh, auth"+livePush+"ORDER BY p.made", s.name, time.Now().Add(-sessionIdle).UnixMilli(), time.Now().Add(-sessionAge).UnixMilli())
}

// hasPush reports whether a browser still wants to be notified.
func (s *store) hasPush(ctx context.Context, b subscription) (bool, error) {
	found, err := list(ctx, s, one[string], "SELECT endpoint"+livePush+"AND endpoint = ?4 AND session IS NOT DISTINCT FROM ?5",
		s.name, time.Now().Add(-sessionIdle).UnixMilli(), time.Now().Add(-sessionAge).UnixMilli(), b.Endpoint, b.session)
	return len(found) > 0, err
}

// livePush returns the browsers whose session has not expired.
const livePush = " FROM page_push p LEFT JOIN page_session s ON s.id = p.session WHERE p.channel = ?1 AND (p.session IS NULL OR s.used >= ?2 AND s.made >= ?3) "
