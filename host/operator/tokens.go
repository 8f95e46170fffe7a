package operator

import (
	"context"

	"github.com/longshore-bridge/longshore/host/remote"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// TokenOrder says for whom a token is.
type TokenOrder struct {
	Group  string `json:"group"`          // the folder
	Thread string `json:"thread"`         // empty: the chat itself
	From   string `json:"from,omitempty"` // the only address that may use it; empty: any
}

// CodeDoorOff says that longshore.yaml opens no door.
const CodeDoorOff = "door_off"

// remote is the server for assistants elsewhere of a running host.
func (d *Desk) remote() (*remote.Server, error) {
	switch {
	case !d.Running:
		return nil, ErrNoHost
	case d.Door == nil:
		return nil, &refusal.Error{Code: CodeDoorOff, Message: "this host lets no assistants in by HTTP", Hint: "add door: {listen: 127.0.0.1:8430} to longshore.yaml and restart the host"}
	}
	return d.Door, nil
}

// Tokens implements Control.
func (d *Desk) Tokens(ctx context.Context) ([]remote.Token, error) {
	at, err := d.remote()
	if err != nil {
		return nil, err
	}
	return at.List(ctx)
}

// MakeToken implements Control.
func (d *Desk) MakeToken(ctx context.Context, o TokenOrder) (remote.NewToken, error) {
	at, err := d.remote()
	if err != nil {
		return remote.NewToken{}, err
	}
	return at.Make(ctx, o.Group, o.Thread, o.From)
}

// RevokeToken implements Control.
func (d *Desk) RevokeToken(ctx context.Context, id string) error {
	at, err := d.remote()
	if err != nil {
		return err
	}
	return at.Revoke(ctx, id)
}
