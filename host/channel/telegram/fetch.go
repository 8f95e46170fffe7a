package telegram

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/webapi"
	"github.com/longshore-bridge/longshore/media"
)

// Fetch implements channel.Fetcher, from the Bot API server.
func (t *Telegram) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	return t.FetchBy(ctx, f, nil, func(ctx context.Context, o *bot.Open, _ channel.Inbound, file channel.Attachment) (io.ReadCloser, error) {
		return t.download(ctx, o.Scratch, file, f.Patient)
	})
}

func (t *Telegram) download(ctx context.Context, scratch *transfer.Scratch, f channel.Attachment, patient bool) (io.ReadCloser, error) {
	most := t.settings.most(maxFetch)
	_, id := fileOf(f.Ref)
	if f.Size > most {
		return nil, tooLarge(most)
	}
	var where struct {
		Path string `json:"file_path"`
	}
	switch err := t.api.Ask(ctx, "POST", "getFile", map[string]string{"file_id": id}, &where); {
	case webapi.Says(err, "file is too big"):
		return nil, tooLarge(most)
	case channel.ClassOf(err) == channel.Permanent:
		return nil, channel.Unfetchable("Telegram does not have it any more")
	case err != nil:
		return nil, err
	case strings.HasPrefix(where.Path, "/"): // a path of the server's own disk, which is not for us to open
		return nil, channel.Unfetchable("the Bot API server keeps it on its own disk: the operator starts the server without --local")
	case where.Path == "" || path.Clean(where.Path) != where.Path || strings.HasPrefix(where.Path, ".."):
		return nil, channel.Unfetchable("Telegram names no place where it lies")
	}
	at := url.URL{Path: "/file/bot/" + where.Path}
	return scratch.Get(ctx, t.api.Client, strings.TrimSuffix(t.settings.Server, "/")+at.EscapedPath(), most, transfer.SpeedFor(patient))
}

func tooLarge(most int64) error {
	return channel.Unfetchable(fmt.Sprintf("bots get members' files of up to %s from Telegram", media.Size(most)))
}
