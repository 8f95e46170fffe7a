package telegram

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/media"
)

// Fetch implements channel.Fetcher, from the Bot API server. The Ref is the index of the file in its
// message and the Ref of the message.
func (t *Telegram) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	ctx, open, leave, err := t.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	index, kept, err := open.Kept(ctx, f)
	if err != nil {
		return nil, err
	}
	u, _, err := decode(kept.Body, nil)
	if err != nil || u.Message == nil {
		return nil, channel.Unfetchable("the message cannot be read any more")
	}
	files := u.Message.withQuoted()
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(files) {
		return nil, channel.Unfetchable("the message has no such file")
	}
	return t.download(ctx, open.Scratch, files[i], f.Patient)
}

func (t *Telegram) download(ctx context.Context, scratch *transfer.Scratch, f file, patient bool) (io.ReadCloser, error) {
	most := t.settings.fetchable()
	if f.Size > most {
		return nil, tooLarge(most)
	}
	var where struct {
		Path string `json:"file_path"`
	}
	switch err := t.askShort(ctx, "getFile", map[string]string{"file_id": f.ID}, &where); {
	case says(err, "file is too big"):
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
	return scratch.Get(ctx, t.api.client, t.api.base+at.EscapedPath(), most, transfer.SpeedFor(patient))
}

func tooLarge(most int64) error {
	return channel.Unfetchable(fmt.Sprintf("bots get members' files of up to %s from Telegram", media.Size(most)))
}
