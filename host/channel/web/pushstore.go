package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"time"

	stores "github.com/longshore-bridge/longshore/host/store"
)

// pushSchema is the second half of version 6: the browsers that want to be notified
// while no page is open, and the key by which push services know this page.
const pushSchema = `
CREATE TABLE push_key (key BLOB NOT NULL); -- PKCS 8; at most one
CREATE TABLE push (
	endpoint TEXT PRIMARY KEY,
	session  BLOB REFERENCES sessions (id) ON DELETE CASCADE, -- NULL: the page needs no token
	p256dh   BLOB NOT NULL,
	auth     BLOB NOT NULL,
	made     INTEGER NOT NULL -- Unix milliseconds
);
CREATE INDEX push_session ON push (session);`

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
	if err := s.exec(ctx, "INSERT INTO push_key (key) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM push_key)", fresh); err != nil {
		return nil, err
	}
	kept, err := list(ctx, s, one[[]byte], "SELECT key FROM push_key")
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
	err := s.commit.Do(ctx, func(t *stores.Tx) error {
		if _, err := t.Exec("DELETE FROM push WHERE endpoint = ?", b.Endpoint); err != nil {
			return err
		}
		if b.session != nil {
			if _, err := t.Exec(`DELETE FROM push WHERE session = ?1 AND endpoint NOT IN
				(SELECT endpoint FROM push WHERE session = ?1 ORDER BY made DESC LIMIT ?2)`, b.session, maxSessionPush-1); err != nil {
				return err
			}
		}
		// If its session ended while the request came in, the foreign key would fail, and
		// with it everything in the same commit.
		if b.session != nil {
			rows, err := t.Query("SELECT used FROM sessions WHERE id = ?", b.session)
			if there, err := all(rows, err, one[int64]); err != nil || len(there) == 0 {
				return errors.Join(err, errSessionOver)
			}
		}
		res, err := t.Exec("INSERT INTO push (endpoint, session, p256dh, auth, made) SELECT ?,?,?,?,? WHERE (SELECT count(*) FROM push) < ?",
			b.Endpoint, b.session, b.P256dh, b.Auth, time.Now().UnixMilli(), maxPush)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, errPushFull)
		}
		return nil
	}, nil)
	if err == nil || errors.Is(err, errPushFull) || errors.Is(err, errSessionOver) {
		return err
	}
	return writing(err)
}

// dropPush deletes a browser of the session.
func (s *store) dropPush(ctx context.Context, endpoint string, session []byte) error {
	return s.exec(ctx, "DELETE FROM push WHERE endpoint = ? AND session IS ?", endpoint, session)
}

// dropOpenPush deletes the browsers from the time when the page needed no token.
func (s *store) dropOpenPush(ctx context.Context) error {
	return s.exec(ctx, "DELETE FROM push WHERE session IS NULL")
}

func (s *store) allPush(ctx context.Context) ([]subscription, error) {
	return list(ctx, s, func(rows *sql.Rows) (one subscription, err error) {
		err = rows.Scan(&one.Endpoint, &one.session, &one.P256dh, &one.Auth)
		return one, err
	}, "SELECT endpoint, session, p256dh, auth"+livePush+"ORDER BY p.made", time.Now().Add(-sessionIdle).UnixMilli(), time.Now().Add(-sessionAge).UnixMilli())
}

// hasPush reports whether a browser still wants to be notified.
func (s *store) hasPush(ctx context.Context, b subscription) (bool, error) {
	found, err := list(ctx, s, one[string], "SELECT endpoint"+livePush+"AND endpoint = ?3 AND session IS ?4",
		time.Now().Add(-sessionIdle).UnixMilli(), time.Now().Add(-sessionAge).UnixMilli(), b.Endpoint, b.session)
	return len(found) > 0, err
}

// livePush returns the browsers whose session has not expired.
const livePush = " FROM push p LEFT JOIN sessions s ON s.id = p.session WHERE (p.session IS NULL OR s.used >= ?1 AND s.made >= ?2) "
