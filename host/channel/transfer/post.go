package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

const maxAnswer = 64 << 10 // bytes of an answer that are read

// Answer is the cause of an error of Post if the platform answered. The channel may read its
// platform's own codes from it.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most 64 KiB, foreign
}

func (a *Answer) Error() string { return fmt.Sprintf("it answered %q", media.Cut(string(a.Body), 200)) }

// Post sends a message to a platform; who is the platform's name for people. It closes b. With
// status 2xx it returns the answer, cut at 64 KiB. Any other status is an error of this class: Held
// for 401, 403 and a redirect, which is not followed; Passing for 408, 429 and 503; Ambiguous for
// any other 5xx; Permanent for the rest, of which 404 and 410 mean an unknown chat. The cause of
// such an error is an *Answer. Without an answer the error is Ambiguous if the whole body was sent,
// and Passing otherwise. A *channel.Error of the client's transport is returned as it is.
func Post(ctx context.Context, c *http.Client, who, address string, header http.Header, b *Body) (answer []byte, err error) {
	defer b.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, b)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.ContentLength, req.Header = b.Length, header
	req.Header.Set("Content-Type", b.Type)
	if len(b.files) > 0 {
		req.Header.Set("Expect", "100-continue") // so that it may refuse before the files come
	}
	direct := *c
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := direct.Do(req)
	if err != nil {
		return nil, b.unanswered(who, err)
	}
	defer Drain(res)
	if answer, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer)); err != nil {
		return nil, b.unanswered(who, err)
	}
	if res.StatusCode/100 != 2 {
		return nil, refused(who, res, answer)
	}
	b.progress.At(b.progress.size)
	return answer, nil
}

// unanswered returns the error for a request that ended without an answer.
func (b *Body) unanswered(who string, err error) error {
	all, broken := b.handed()
	refused, ours := errors.AsType[*channel.Error](err)
	switch {
	case ours: // of the client's transport, which sent nothing
		return refused
	case broken != nil:
		return fmt.Errorf("read accepted file: %w", broken)
	case all:
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: who + " did not say whether it took the message", Err: WithoutAddress(err)}
	}
	return &channel.Error{Class: channel.Passing, Code: "not_connected", Message: who + " cannot be reached", Hint: channel.Again, Err: WithoutAddress(err)}
}

// refused returns the error of an answer that is not 2xx.
func refused(who string, res *http.Response, answer []byte) error {
	s := strconv.Itoa(res.StatusCode)
	e := &channel.Error{Class: channel.Permanent, Code: "message_refused", Message: who + " refused the message (" + s + ")",
		Err: &Answer{Status: res.StatusCode, Header: res.Header, Body: answer}}
	switch res.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Class, e.Code, e.Message = channel.Held, "not_authorized", who+" does not accept the host's credentials ("+s+")"
		e.Hint = "correct the channel's settings in longshore.yaml"
	case http.StatusNotFound, http.StatusGone:
		e.Code, e.Message, e.Hint = "unknown_chat", who+" knows no such chat ("+s+")", "ask the operator whether the chat and the address in longshore.yaml are right"
	case http.StatusRequestEntityTooLarge:
		e.Code, e.Message, e.Hint = "file_too_large", who+" takes no message of this size", "send a smaller file"
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.Class, e.Code, e.Message, e.Hint = channel.Passing, "rate_limited", who+" takes nothing at the moment ("+s+")", channel.Again
		e.RetryAfter = RetryAfter(res.Header, time.Now())
	default:
		switch res.StatusCode / 100 {
		case 3:
			e.Class, e.Code, e.Message = channel.Held, "moved", who+" is at another address ("+s+")"
			e.Hint = "correct the address in longshore.yaml; redirects are not followed"
		case 5: // it may have taken the message before it failed
			e.Class, e.Code, e.Message = channel.Ambiguous, "no_answer", who+" failed ("+s+") and may have taken the message"
		}
	}
	return e
}
