package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
)

// api is the client of Slack's Web API. It sends nothing to other hosts.
type api struct {
	base    string       // of the Web API
	bot     string       // the bot token
	client  *http.Client // to all of Slack
	files   *http.Client // to its file server, with the bot token
	slackgo *slackgo.Client
	clock   transfer.Clock
	ahead   atomic.Int64 // ns that Slack's clock is ahead of the host's
}

// atSlack converts a time of the host to Slack's clock, by the Date of its last answer.
func (a *api) atSlack(t time.Time) time.Time { return t.Add(time.Duration(a.ahead.Load())) }

// ReportTime implements transfer.Clock.
func (a *api) ReportTime(slack time.Time) {
	a.ahead.Store(int64(time.Until(slack)))
	a.clock.ReportTime(slack)
}

func newAPI(set *Settings, net Net, clock transfer.Clock) (*api, error) {
	a := &api{base: slackgo.APIURL, bot: set.BotToken.Reveal(), clock: clock}
	all, files := transfer.Options{Hosts: []string{"slack.com", ".slack.com"}, Clock: a}, transfer.Options{Hosts: []string{"files.slack.com"}}
	if net.API != "" {
		u, err := url.Parse(net.API)
		if err != nil {
			return nil, err
		}
		a.base = net.API
		all.Origins = []string{u.Scheme + "://" + u.Host}
		files.Origins = all.Origins
	}
	var errAll, errFiles error
	a.client, errAll = transfer.New(all)
	a.files, errFiles = transfer.New(files)
	if err := errors.Join(errAll, errFiles); err != nil {
		return nil, err
	}
	a.files.Transport = bearer{transfer.Transport{RoundTripper: a.files.Transport}, a.bot}
	bounded := *a.client
	bounded.Transport, bounded.Timeout = short{a.client.Transport}, asking
	a.slackgo = slackgo.New(a.bot, slackgo.OptionAppLevelToken(set.AppToken.Reveal()), slackgo.OptionAPIURL(a.base), slackgo.OptionHTTPClient(&bounded))
	return a, nil
}

func (a *api) close() {
	a.client.CloseIdleConnections()
	a.files.CloseIdleConnections()
}

// maxAnswer is how many bytes of an answer slack-go gets. It has no bound of its own.
const maxAnswer = 32 << 20

// short bounds answers.
type short struct{ http.RoundTripper }

func (s short) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxAnswer), res.Body}
	}
	return res, err
}

// bearer adds the token to requests. Its client reaches Slack's file server alone.
type bearer struct {
	transfer.Transport
	token string
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.Transport.RoundTrip(req)
}

// post calls a method that shows something in a chat. The error is Ambiguous if Slack may have
// done so. answer may be nil. A method that only reads takes its args as url.Values.
func (a *api) post(ctx context.Context, method string, args, answer any) error {
	kind := "application/json; charset=utf-8"
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	if form, ok := args.(url.Values); ok {
		kind, body = "application/x-www-form-urlencoded", []byte(form.Encode())
	}
	header := http.Header{"Authorization": {"Bearer " + a.bot}}
	got, err := transfer.Post(ctx, a.client, platformName, a.base+method, header, transfer.Plain(kind, body))
	if err != nil {
		return err
	}
	said := struct {
		OK            bool
		Error, Needed string
	}{}
	if err = json.Unmarshal(got, &said); err == nil && !said.OK {
		return refused(said.Error, said.Needed)
	}
	if err == nil && answer != nil {
		err = json.Unmarshal(got, answer)
	}
	if err != nil {
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Slack answered something else", Err: fmt.Errorf("%s: %w", method, err)}
	}
	return nil
}

// ask calls a method that only reads. An error without a refusal is Passing.
func (a *api) ask(ctx context.Context, method string, args url.Values, answer any) error {
	err := a.post(ctx, method, args, answer)
	if channel.ClassOf(err) == channel.Ambiguous {
		return link.Lost(platformName, err)
	}
	return err
}

// apiError classifies an error of slack-go, whose methods here show nothing in a chat.
func apiError(err error) error {
	var limited *slackgo.RateLimitedError
	var said slackgo.SlackErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limited):
		return link.Slow(platformName, limited.RetryAfter, nil)
	case errors.As(err, &said):
		err = refused(said.Err, said.Needed)
		if channel.ClassOf(err) == channel.Ambiguous {
			return link.Lost(platformName, said)
		}
		return err
	}
	return link.Lost(platformName, transfer.WithoutAddress(err))
}
