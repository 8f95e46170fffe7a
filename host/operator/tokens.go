package operator

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/longshore-bridge/longshore/host/door"
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

// entrance is the door of a running host.
func (d *Desk) entrance() (*door.Door, error) {
	switch {
	case !d.Running:
		return nil, ErrNoHost
	case d.Door == nil:
		return nil, &refusal.Error{Code: CodeDoorOff, Message: "this host lets no assistants in by HTTP", Hint: "add door: {listen: 127.0.0.1:8430} to longshore.yaml and restart the host"}
	}
	return d.Door, nil
}

// Tokens implements Control.
func (d *Desk) Tokens(ctx context.Context) ([]door.Token, error) {
	at, err := d.entrance()
	if err != nil {
		return nil, err
	}
	return at.List(ctx)
}

// MakeToken implements Control.
func (d *Desk) MakeToken(ctx context.Context, o TokenOrder) (door.NewToken, error) {
	at, err := d.entrance()
	if err != nil {
		return door.NewToken{}, err
	}
	return at.Make(ctx, o.Group, o.Thread, o.From)
}

// RevokeToken implements Control.
func (d *Desk) RevokeToken(ctx context.Context, id string) error {
	at, err := d.entrance()
	if err != nil {
		return err
	}
	return at.Revoke(ctx, id)
}

// Tokens asks the host for its tokens.
func (c *Client) Tokens(ctx context.Context) ([]door.Token, error) {
	var all []door.Token
	return all, c.call(ctx, http.MethodGet, "/v1/tokens", nil, &all)
}

// MakeToken asks the host for a new token.
func (c *Client) MakeToken(ctx context.Context, o TokenOrder) (door.NewToken, error) {
	var t door.NewToken
	return t, c.call(ctx, http.MethodPost, "/v1/tokens", o, &t)
}

// RevokeToken asks the host to end a token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/v1/tokens/"+url.PathEscape(id), nil, nil)
}

// addTokens adds the calls about tokens.
func (s *Server) addTokens(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/tokens", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.Control.Tokens(r.Context())
		reply(w, all, err)
	})
	mux.HandleFunc("POST /v1/tokens", func(w http.ResponseWriter, r *http.Request) {
		var o TokenOrder
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil || json.Unmarshal(b, &o) != nil {
			reply(w, nil, badCall("the call is not the JSON that was expected"))
			return
		}
		t, err := s.Control.MakeToken(r.Context(), o)
		reply(w, t, err)
	})
	mux.HandleFunc("DELETE /v1/tokens/{id}", func(w http.ResponseWriter, r *http.Request) {
		reply(w, struct{}{}, s.Control.RevokeToken(r.Context(), r.PathValue("id")))
	})
}
