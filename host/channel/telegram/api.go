package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// api is the client of the Bot API. It sends nothing to other servers.
type api struct {
	base   string
	client *http.Client
}

func newAPI(set *Settings, clock transfer.Clock) (*api, error) {
	base := strings.TrimSuffix(set.Server, "/")
	client, err := transfer.New(transfer.Options{Origins: []string{base}, Clock: clock})
	if err != nil {
		return nil, err
	}
	client.Transport = secret{transfer.Transport{RoundTripper: client.Transport}, set.Token.Reveal()}
	return &api{base, client}, nil
}

// secret puts the token in the address when the request goes out, so that no error holds it.
type secret struct {
	transfer.Transport
	token string
}

func (s secret) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Path = strings.Replace(req.URL.Path, "/bot/", "/bot"+s.token+"/", 1)
	return s.Transport.RoundTrip(req)
}

func (a *api) address(method string) string { return a.base + "/bot/" + method }

// post calls a method that shows something in a chat. The error is Ambiguous if Telegram may have
// done so.
func (a *api) post(ctx context.Context, method string, body *transfer.Body, answer any) error {
	got, err := transfer.Post(ctx, a.client, platformName, a.address(method), http.Header{}, body)
	if refusal, ok := errors.AsType[*transfer.Answer](err); ok && refusal.Status/100 == 4 {
		if said := read(method, refusal.Body, answer); isWord(said) {
			return said
		}
	}
	if err != nil {
		return err
	}
	return read(method, got, answer)
}

// read reads an answer into answer, which may be nil. An answer of another form is Ambiguous.
func read(method string, got []byte, answer any) error {
	var said struct {
		OK          *bool           `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Code        int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			MigrateTo  int64 `json:"migrate_to_chat_id"`
			RetryAfter int64 `json:"retry_after"`
		} `json:"parameters"`
	}
	err := json.Unmarshal(got, &said)
	switch {
	case err == nil && said.OK != nil && !*said.OK:
		return refused(&word{said.Code, said.Description, said.Parameters.MigrateTo}, said.Parameters.RetryAfter)
	case err == nil && said.OK != nil && answer != nil:
		err = json.Unmarshal(said.Result, answer)
	case err == nil && said.OK == nil:
		err = errors.New("it holds no ok")
	}
	if err != nil {
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Telegram answered something else", Err: fmt.Errorf("%s: %w", method, err)}
	}
	return nil
}

// maxAnswer is the most bytes of an answer, which has 100 updates at most.
const maxAnswer = 16 << 20

// ask calls a method that may be repeated, since it shows nothing new. answer may be nil. An error
// without a refusal is Passing.
func (a *api) ask(ctx context.Context, method string, args, answer any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	got, err := transfer.Ask(ctx, a.client, http.MethodPost, a.address(method), http.Header{"Content-Type": {"application/json"}}, body, maxAnswer)
	switch {
	case err != nil:
	case got.Status/100 != 2 && got.Status/100 != 4:
		err = fmt.Errorf("%s: status %d", method, got.Status)
	default:
		err = read(method, got.Body, answer)
	}
	if channel.ClassOf(err) == channel.Ambiguous || err != nil && !isWord(err) {
		return link.Lost(platformName, err)
	}
	return err
}
