package telegram

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

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

// file is a file of any kind.
type file struct {
	ID        string `json:"file_id"`
	Unique    string `json:"file_unique_id"` // the same at all times and for all bots
	Name      string `json:"file_name"`
	Performer string `json:"performer"` // of music, as Title
	Title     string `json:"title"`
	MIME      string `json:"mime_type"`
	Size      int64  `json:"file_size"`
	kind      media.Kind
	loop      bool
}

type sticker struct {
	file
	Emoji    string `json:"emoji"`
	Animated bool   `json:"is_animated"`
	Video    bool   `json:"is_video"`
}

// attached are the files of a message, or of a part of it. An animation comes as a document, too. A
// photo comes in several sizes, the largest last.
type attached struct {
	Document  *file    `json:"document"`
	Animation *file    `json:"animation"`
	Photo     []file   `json:"photo"`
	LivePhoto *file    `json:"live_photo"`
	Video     *file    `json:"video"`
	Round     *file    `json:"video_note"`
	Audio     *file    `json:"audio"`
	Voice     *file    `json:"voice"`
	RichVoice *file    `json:"voice_note"`
	Sticker   *sticker `json:"sticker"`
}

func (a *attached) all() (all []file) {
	add := func(f *file, kind media.Kind, stem, mime string) {
		if f == nil {
			return
		}
		mine := *f
		mine.kind, mine.MIME, mine.loop = kind, cmp.Or(f.MIME, mime), f == a.Animation
		if title := strings.Trim(f.Performer+" - "+f.Title, " -"); kind == media.Audio && title != "" {
			stem = title
		}
		mine.Name = cmp.Or(f.Name, stem+media.ExtensionFor(mine.MIME))
		all = append(all, mine)
	}
	if add(a.Animation, media.Video, "animation", "video/mp4"); a.Animation == nil {
		add(a.Document, media.Document, "file", "")
	}
	if n := len(a.Photo); n > 0 {
		add(&a.Photo[n-1], media.Image, "photo", "image/jpeg")
	}
	add(a.LivePhoto, media.Video, "photo", "video/mp4")
	add(a.Video, media.Video, "video", "video/mp4")
	add(a.Round, media.Video, "video", "video/mp4")
	add(a.Audio, media.Audio, "audio", "audio/mpeg")
	add(cmp.Or(a.Voice, a.RichVoice), media.Voice, "voice", "audio/ogg")
	if s := a.Sticker; s != nil && !s.Animated && !s.Video {
		add(&s.file, media.Sticker, "sticker", "image/webp")
	}
	return all
}

// block is a rich message, paid media, or a part of either.
type block struct {
	attached
	Blocks []block `json:"blocks"`
	Items  []block `json:"items"`
	Paid   []block `json:"paid_media"`
}

func (b *block) files() []file {
	all := b.all()
	for _, parts := range [][]block{b.Blocks, b.Items, b.Paid} {
		for i := range parts {
			all = append(all, parts[i].files()...)
		}
	}
	return all
}

// files returns the files of the content, in the order in which members see them.
func (c *content) files() []file {
	all := c.all()
	if c.Poll != nil {
		all = append(all, c.Poll.Media.files()...)
	}
	for _, raw := range []jsontext.Value{c.Rich, c.Rest["paid_media"]} {
		var b block
		if len(raw) > 0 && json.Unmarshal(raw, &b, lenient) == nil {
			all = append(all, b.files()...)
		}
	}
	return all
}

func (f file) info(at time.Time) media.Info {
	kind := f.kind
	if kind == media.Document {
		kind = media.KindByName(f.Name)
	}
	info := media.Claimed(kind, f.Name, f.MIME, uint64(max(0, f.Size)), at)
	info.Loop = f.loop
	return info
}
