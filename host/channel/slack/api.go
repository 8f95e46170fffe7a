package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
)

const (
	asking    = 20 * time.Second // how long a question may take
	maxAnswer = 16 << 20         // bytes of an answer
)

// api is the client of Slack's Web API. It sends nothing to other hosts. Questions go by slack-go, and
// its errors through refusal. By webapi goes what shows something in a chat, and a question for members'
// messages, of which slack-go reads none if one has a form that it does not know.
type api struct {
	*webapi.API                 // with the bot token
	slack       *slackgo.Client // with both tokens
	files       *http.Client    // to its file server, with the bot token
}

func newAPI(set *Settings, net Net, clock transfer.Clock) (*api, error) {
	all, err := webapi.New(platformName, cmp.Or(net.API, slackgo.APIURL), transfer.Options{Hosts: []string{"slack.com", ".slack.com"}}.At(net.API), dialect{}, clock)
	files, noFiles := transfer.New(transfer.Options{Hosts: []string{"files.slack.com"}}.At(net.API))
	if err := errors.Join(err, noFiles); err != nil {
		return nil, err
	}
	all.Header = http.Header{"Authorization": {"Bearer " + set.BotToken.Reveal()}}
	files.Transport = webapi.Authorized{Transport: transfer.Transport{RoundTripper: files.Transport}, Header: all.Header}
	a := &api{API: all, files: files}
	a.slack = slackgo.New(set.BotToken.Reveal(), slackgo.OptionAppLevelToken(set.AppToken.Reveal()), slackgo.OptionAPIURL(all.Base), slackgo.OptionHTTPClient(a))
	return a, nil
}

// Do implements the HTTP client of slack-go, which bounds nothing itself and takes an answer that has
// neither a yes nor an error, as a proxy's may be, for a yes.
func (a *api) Do(req *http.Request) (*http.Response, error) {
	ctx, end := context.WithTimeout(req.Context(), asking)
	defer end()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	answer, err := transfer.Ask(ctx, a.Client, req.Method, req.URL.String(), req.Header, body, maxAnswer)
	if err != nil {
		return nil, err
	}
	if w := webapi.WordOf(a.Read(answer, nil)); answer.Status == http.StatusOK && w != nil && w.Said == "" {
		return nil, errors.New("the answer says neither yes nor no")
	}
	return &http.Response{StatusCode: answer.Status, Status: http.StatusText(answer.Status), Header: answer.Header, Body: io.NopCloser(bytes.NewReader(answer.Body))}, nil
}

// refusal returns an error of slack-go with its class; nil if err is nil.
func (a *api) refusal(err error) error {
	said, refused := errors.AsType[slackgo.SlackErrorResponse](err)
	slow, limited := errors.AsType[*slackgo.RateLimitedError](err)
	status, failed := errors.AsType[slackgo.StatusCodeError](err)
	switch {
	case err == nil:
		return nil
	case refused:
		err = a.Refuse(webapi.Word{Said: said.Err, Detail: said.Needed})
	case limited:
		err = a.Refuse(webapi.Word{Said: slow.Error(), Status: http.StatusTooManyRequests, Wait: slow.RetryAfter})
	case failed && status.Code == http.StatusTooManyRequests: // it has no Retry-After
		err = a.Refuse(webapi.Word{Said: status.Error(), Status: status.Code})
	}
	if _, ok := errors.AsType[*channel.Error](err); ok && channel.ClassOf(err) != channel.Ambiguous {
		return err
	}
	return a.Lost(err)
}

// Close implements bot.Paired.
func (s *Slack) Close() {
	s.api.Client.CloseIdleConnections()
	s.api.files.CloseIdleConnections()
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
		return &webapi.Word{Said: strings.TrimSpace(said.Error), Detail: said.Needed}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer.Body, out)
}
