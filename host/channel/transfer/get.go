package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Get downloads a member's file of at most most bytes into a file of s, and rewinds it. c is a
// client of New. An error is Permanent for an address that c may not reach, for 403, 404 and 410,
// and for a file that is too large; any other error is temporary.
func (s *Scratch) Get(ctx context.Context, c *http.Client, address string, most int64, speed Speed) (_ io.ReadCloser, err error) {
	ctx, expire := context.WithTimeoutCause(ctx, speed.Total(most), ErrSlow)
	defer expire()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, channel.Unfetchable("its address is none")
	}
	res, err := c.Do(req)
	if errors.Is(err, ErrRefused) {
		return nil, channel.Unfetchable("its address is not one that this channel may reach")
	} else if err != nil {
		return nil, fmt.Errorf("fetch a member's file: %w", err)
	}
	defer Drain(res)
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return nil, channel.Unfetchable(fmt.Sprintf("its server does not give it (%d)", res.StatusCode))
	default:
		return nil, fmt.Errorf("fetch a member's file: its server answers %d", res.StatusCode)
	}
	file, err := s.Bounded(most)
	if err != nil {
		return nil, err
	}
	watch := speed.Watch(stop)
	defer watch.Stop()
	if res.ContentLength > most {
		err = ErrTooLarge
	} else if _, err = io.Copy(file, watch.Body(res.Body)); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	switch {
	case err == nil:
		return file.File, nil
	case errors.Is(err, ErrTooLarge):
		err = channel.Unfetchable("members' files may have " + media.Size(most))
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return nil, errors.Join(fmt.Errorf("fetch a member's file: %w", err), file.Close())
}
