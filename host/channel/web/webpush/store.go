package webpush

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
)

const (
	maxBrowsers  = 1000 // browsers of all sessions
	maxOfSession = 5    // browsers of one session; the oldest make room
)

var (
	errFull        = errors.New("too many browsers want to be notified") // beyond maxBrowsers
	errSessionOver = errors.New("the session has ended")
)

// subscription is a browser that wants to be notified, as it describes itself.
type subscription struct {
	Endpoint     string
	session      []byte // nil: the page needs no token
	P256dh, Auth []byte
}

// loadKey returns the page's key, made at the first call.
func (p *Pusher) loadKey(ctx context.Context) (*ecdsa.PrivateKey, error) {
	key, err := newPushKey()
	if err != nil {
		return nil, fmt.Errorf("make the page's push key: %w", err)
	}
	fresh, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the page's push key: %w", err)
	}
	if err := p.exec(ctx, "INSERT INTO page_push_key (channel, key) VALUES (?, ?) ON CONFLICT (channel) DO NOTHING", p.opts.Channel, fresh); err != nil {
		return nil, err
	}
	rows, err := p.opts.DB.QueryContext(ctx, "SELECT key FROM page_push_key WHERE channel = ?", p.opts.Channel)
	kept, err := state.All(rows, err, state.One[[]byte])
	if err != nil || len(kept) == 0 {
		return nil, errors.Join(err, errors.New("the page's push key is gone"))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(kept[0])
	if key, ok := parsed.(*ecdsa.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("read the page's push key: %w", err)
}

// add adds a browser, or changes its session and keys.
func (p *Pusher) add(ctx context.Context, b subscription) error {
	err := p.opts.DB.Do(ctx, func(t *state.Tx) error {
		if err := t.Exec("DELETE FROM page_push WHERE channel = ? AND endpoint = ?", p.opts.Channel, b.Endpoint); err != nil {
			return err
		}
		if b.session != nil {
			if err := t.Exec(`DELETE FROM page_push WHERE session = ?1 AND endpoint NOT IN
				(SELECT endpoint FROM page_push WHERE session = ?1 ORDER BY made DESC LIMIT ?2)`, b.session, maxOfSession-1); err != nil {
				return err
			}
		}
		if !p.opts.Guard.Lives(b.session) { // it may have ended while the request came in
			return errSessionOver
		}
		n, err := t.Changed("INSERT INTO page_push (channel, endpoint, session, p256dh, auth, made) SELECT ?1,?2,?3,?4,?5,?6 WHERE (SELECT count(*) FROM page_push WHERE channel = ?1) < ?7",
			p.opts.Channel, b.Endpoint, b.session, b.P256dh, b.Auth, time.Now().UnixMilli(), maxBrowsers)
		if err == nil && n == 0 {
			err = errFull
		}
		return err
	}, nil)
	if err == nil || errors.Is(err, errFull) || errors.Is(err, errSessionOver) {
		return err
	}
	return fmt.Errorf("write subscriptions: %w", store.Words(err))
}

// remove deletes a browser of the session.
func (p *Pusher) remove(ctx context.Context, b subscription) error {
	return p.exec(ctx, "DELETE FROM page_push WHERE channel = ? AND endpoint = ? AND session IS NOT DISTINCT FROM ?", p.opts.Channel, b.Endpoint, b.session)
}

func (p *Pusher) exec(ctx context.Context, query string, args ...any) error {
	if _, err := p.opts.DB.Exec(ctx, query, args...); err != nil {
		return fmt.Errorf("write subscriptions: %w", store.Words(err))
	}
	return nil
}

// Forget deletes the browsers of a channel that is not configured, from before a time.
func Forget(ctx context.Context, db *state.DB, channel string, before time.Time) error {
	_, err := db.Exec(ctx, "DELETE FROM page_push WHERE channel = ? AND made < ?", channel, before.UnixMilli())
	return err
}

// all returns the browsers that are notified, and deletes those whose session has ended.
func (p *Pusher) all(ctx context.Context) (live []subscription, err error) {
	rows, err := p.opts.DB.QueryContext(ctx, "SELECT endpoint, session, p256dh, auth FROM page_push WHERE channel = ? ORDER BY made", p.opts.Channel)
	found, err := state.All(rows, err, func(rows *sql.Rows) (b subscription, err error) {
		err = rows.Scan(&b.Endpoint, &b.session, &b.P256dh, &b.Auth)
		return b, err
	})
	for _, b := range found {
		if p.opts.Guard.Lives(b.session) {
			live = append(live, b)
		} else if err := p.remove(ctx, b); err != nil {
			return nil, err
		}
	}
	return live, err
}

// has reports whether a browser still wants to be notified.
func (p *Pusher) has(ctx context.Context, b subscription) (bool, error) {
	rows, err := p.opts.DB.QueryContext(ctx, "SELECT endpoint FROM page_push WHERE channel = ? AND endpoint = ? AND session IS NOT DISTINCT FROM ?", p.opts.Channel, b.Endpoint, b.session)
	found, err := state.All(rows, err, state.One[string])
	return len(found) > 0 && p.opts.Guard.Lives(b.session), err
}
