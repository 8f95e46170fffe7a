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

// web is Slack's side of HTTP. Nothing in it goes anywhere but to Slack.
type web struct {
	base   string       // of the Web API
	bot    string       // the bot token
	client *http.Client // to all of Slack
	files  *http.Client // to its file server, with the bot token
	api    *slackgo.Client
	clock  transfer.Clock
	ahead  atomic.Int64 // ns that Slack's clock is ahead of the host's
}

// atSlack is a time of the host's by Slack's clock, as far as Slack has said it.
func (w *web) atSlack(t time.Time) time.Time { return t.Add(time.Duration(w.ahead.Load())) }

// ReportTime implements transfer.Clock.
func (w *web) ReportTime(slack time.Time) {
	w.ahead.Store(int64(time.Until(slack)))
	w.clock.ReportTime(slack)
}

func newWeb(set *Settings, net Net, clock transfer.Clock) (*web, error) {
	w := &web{base: slackgo.APIURL, bot: set.BotToken.Reveal(), clock: clock}
	all, files := transfer.Options{Hosts: []string{"slack.com", ".slack.com"}, Clock: w}, transfer.Options{Hosts: []string{"files.slack.com"}}
	if net.API != "" {
		u, err := url.Parse(net.API)
		if err != nil {
			return nil, err
		}
		w.base = net.API
		all.Origins = []string{u.Scheme + "://" + u.Host}
		files.Origins = all.Origins
	}
	var errAll, errFiles error
	w.client, errAll = transfer.New(all)
	w.files, errFiles = transfer.New(files)
	if err := errors.Join(errAll, errFiles); err != nil {
		return nil, err
	}
	w.files.Transport = bearer{w.files.Transport, w.bot}
	bounded := *w.client
	bounded.Transport, bounded.Timeout = short{w.client.Transport}, asking
	w.api = slackgo.New(w.bot, slackgo.OptionAppLevelToken(set.AppToken.Reveal()), slackgo.OptionAPIURL(w.base), slackgo.OptionHTTPClient(&bounded))
	return w, nil
}

func (w *web) close() {
	w.client.CloseIdleConnections()
	w.files.CloseIdleConnections()
}

// maxAnswer is how many bytes of an answer slack-go reads, which has no bound.
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

// bearer shows the token to the hosts of its client, and to no other.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(req)
}

// CloseIdleConnections lets http.Client do so.
func (b bearer) CloseIdleConnections() {
	if c, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// post calls a method that shows something in a chat. Its error says whether it
// may have done so. A method that only reads wants its args as url.Values.
func (w *web) post(ctx context.Context, method string, args, answer any) error {
	kind := "application/json; charset=utf-8"
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	if form, ok := args.(url.Values); ok {
		kind, body = "application/x-www-form-urlencoded", []byte(form.Encode())
	}
	header := http.Header{"Authorization": {"Bearer " + w.bot}}
	got, err := transfer.Post(ctx, w.client, "Slack", w.base+method, header, transfer.Plain(kind, body))
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
	if err == nil {
		err = json.Unmarshal(got, answer)
	}
	if err != nil {
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "Slack answered something else", Err: fmt.Errorf("%s: %w", method, err)}
	}
	return nil
}

// ask calls a method that only reads.
func (w *web) ask(ctx context.Context, method string, args url.Values, answer any) error {
	err := w.post(ctx, method, args, answer)
	if channel.ClassOf(err) == channel.Ambiguous {
		return link.Lost("Slack", err)
	}
	return err
}

// apiError returns the error of a method of slack-go, which shows nothing in a chat.
func apiError(err error) error {
	var limited *slackgo.RateLimitedError
	var said slackgo.SlackErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limited):
		return slow(limited.RetryAfter)
	case errors.As(err, &said):
		err = refused(said.Err, said.Needed)
		if channel.ClassOf(err) == channel.Ambiguous {
			return link.Lost("Slack", said)
		}
		return err
	}
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // without the address
	}
	return link.Lost("Slack", err)
}
