package telegram

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

// newAPI returns the client of the Bot API. It sends nothing to other servers.
func newAPI(set *Settings, clock transfer.Clock) (*webapi.API, error) {
	base := strings.TrimSuffix(set.Server, "/")
	a, err := webapi.New(platformName, base+"/bot/", transfer.Options{Origins: []string{base}}, dialect{}, clock)
	if err == nil {
		a.Client.Transport = secret{transfer.Transport{RoundTripper: a.Client.Transport}, set.Token.Reveal()}
	}
	return a, err
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

// dialect is how Telegram answers.
type dialect struct{}

// Rows implements webapi.Dialect.
func (dialect) Rows() []channel.Row { return refusals }

// Read implements webapi.Dialect.
func (dialect) Read(answer *transfer.Answer, out any) error {
	var said struct {
		OK          *bool          `json:"ok"`
		Result      jsontext.Value `json:"result"`
		Code        int            `json:"error_code"`
		Description string         `json:"description"`
		Parameters  struct {
			MigrateTo  int64 `json:"migrate_to_chat_id"`
			RetryAfter int64 `json:"retry_after"`
		} `json:"parameters"`
	}
	err := json.Unmarshal(answer.Body, &said, lenient)
	switch {
	case err != nil:
		return err
	case said.OK == nil:
		return errors.New("it holds no ok")
	case !*said.OK:
		w := &webapi.Word{Code: said.Code, Said: said.Description, Wait: time.Duration(min(max(said.Parameters.RetryAfter, 0), 1<<31)) * time.Second}
		if to := said.Parameters.MigrateTo; to != 0 {
			w.Detail = number(to)
		}
		return w
	case out == nil:
		return nil
	}
	return json.Unmarshal(said.Result, out, lenient)
}
