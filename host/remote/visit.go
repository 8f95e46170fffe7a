package remote

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// visits are the assistants that the host has started elsewhere. Their tokens are kept in
// memory alone: none outlives its session, or the host. The zero visits has none.
type visits struct {
	mu sync.Mutex
	of map[string]*visit // by the token's id
}

// visit is one session's way in: a listener that leads nowhere else, and the one token that
// counts there and nowhere else.
type visit struct {
	source
	hash [sha256.Size]byte
}

type visitKey struct{}

// Admit serves a group's assistant over a listener of its own, and returns the token that
// it must show there, for a thread of the group's chat or the chat itself. end closes the
// listener, refuses the token from then on, and returns when all calls have ended; what was
// accepted goes on. Errors are refusals.
func (d *Server) Admit(l net.Listener, folder, thread string) (token string, end func(), err error) {
	if _, ok := d.Groups().ByFolder(folder); !ok {
		return "", nil, fmt.Errorf("there is no group %q", folder)
	}
	raw := make([]byte, idBytes+secretBytes)
	rand.Read(raw)
	id, secret := hex.EncodeToString(raw[:idBytes]), base64.RawURLEncoding.EncodeToString(raw[idBytes:])
	v := &visit{source{folder: folder, thread: thread, token: id}, sha256.Sum256([]byte(secret))}
	d.visits.add(v)
	ctx, cancel := context.WithCancel(context.Background())
	srv := d.server(func(net.Listener) context.Context { return context.WithValue(ctx, visitKey{}, v) })
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := srv.Serve(&counted{l, &d.gate}); !errors.Is(err, http.ErrServerClosed) {
			d.Log.Debug("a forwarded socket has ended", "group", folder, "error", err)
		}
	}()
	return tokenPrefix + id + "_" + secret, sync.OnceFunc(func() {
		d.visits.remove(id)
		cancel()
		_ = srv.Close()
		<-served
	}), nil
}

func (v *visits) add(one *visit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = map[string]*visit{}
	}
	v.of[one.token] = one
}

func (v *visits) remove(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.of, id)
}

// of returns the session whose token this is; the zero one, which no token matches, if
// there is none.
func (v *visits) find(id string) *visit {
	v.mu.Lock()
	defer v.mu.Unlock()
	if one := v.of[id]; one != nil {
		return one
	}
	return &visit{}
}

// counts says whether a token's secret is that of the session whose listener the request
// came over.
func (v *visit) counts(ctx context.Context, given [sha256.Size]byte) bool {
	same := subtle.ConstantTimeCompare(v.hash[:], given[:]) == 1
	return same && ctx.Value(visitKey{}) == any(v)
}
