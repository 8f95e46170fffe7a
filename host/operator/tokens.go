package operator

import (
	"context"

	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// TokenOrder says for whom a token is.
type TokenOrder struct {
	Group  string `json:"group"`          // the folder
	Thread string `json:"thread"`         // empty: the chat itself
	From   string `json:"from,omitempty"` // the only address that may use it; empty: any
}

// CodeRemoteOff says that longshore.yaml lets no assistants in by HTTP.
const CodeRemoteOff = "remote_off"

// remote is the server for assistants elsewhere of a running host.
func (l *Local) remote() (*tokens.Tokens, error) {
	switch {
	case l.Running == nil:
		return nil, ErrNoHost
	case l.Running.Remote == nil:
		return nil, &refusal.Error{Code: CodeRemoteOff, Message: "this host lets no assistants in by HTTP", Hint: "add remote: {listen: 127.0.0.1:8430} to longshore.yaml and restart the host"}
	}
	return l.Running.Remote, nil
}

// Tokens implements Control.
func (l *Local) Tokens(ctx context.Context) ([]tokens.Token, error) {
	at, err := l.remote()
	if err != nil {
		return nil, err
	}
	return at.List(ctx)
}

// MakeToken implements Control.
func (l *Local) MakeToken(ctx context.Context, o TokenOrder) (tokens.NewToken, error) {
	at, err := l.remote()
	if err != nil {
		return tokens.NewToken{}, err
	}
	return at.Make(ctx, o.Group, o.Thread, o.From)
}

// RevokeToken implements Control.
func (l *Local) RevokeToken(ctx context.Context, id string) error {
	at, err := l.remote()
	if err != nil {
		return err
	}
	return at.Revoke(ctx, id)
}
