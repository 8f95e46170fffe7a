package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

const apiURL = "https://slack.com/api/"

// api is the client of Slack's Web API. It sends nothing to other hosts.
type api struct {
	*webapi.API              // with the bot token
	app         *webapi.API  // with the app-level token
	files       *http.Client // to its file server, with the bot token
}

func newAPI(set *Settings, net Net, clock transfer.Clock) (*api, error) {
	of := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	all, err := webapi.New(platformName, cmp.Or(net.API, apiURL), transfer.Options{Hosts: []string{"slack.com", ".slack.com"}}.At(net.API), dialect{}, clock)
	files, noFiles := transfer.New(transfer.Options{Hosts: []string{"files.slack.com"}}.At(net.API))
	if err := errors.Join(err, noFiles); err != nil {
		return nil, err
	}
	all.Header = of(set.BotToken.Reveal())
	files.Transport = webapi.Authorized{Transport: transfer.Transport{RoundTripper: files.Transport}, Header: all.Header}
	return &api{all, &webapi.API{Who: platformName, Base: all.Base, Header: of(set.AppToken.Reveal()), Client: all.Client, Dialect: dialect{}}, files}, nil
}

// Close implements bot.Paired.
func (s *Slack) Close() {
	s.api.Client.CloseIdleConnections()
	s.api.files.CloseIdleConnections()
}

// ask calls a method that may be repeated. One that only reads takes its args as url.Values.
func (a *api) ask(ctx context.Context, method string, args, answer any) error {
	return a.Ask(ctx, http.MethodPost, method, args, answer)
}

// dialect is how Slack answers.
type dialect struct{}

// Rows implements webapi.Dialect.
func (dialect) Rows() []channel.Row { return refusals }

// Read implements webapi.Dialect.
func (dialect) Read(answer *transfer.Answer, out any) error {
	var said struct {
		OK            bool
		Error, Needed string
	}
	if err := json.Unmarshal(answer.Body, &said); err != nil {
		return err
	}
	if !said.OK {
		return &webapi.Word{Said: said.Error, Detail: said.Needed}
	}
	if me, ok := out.(*self); ok {
		me.granted = answer.Header.Get("X-OAuth-Scopes")
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Body, out)
}
