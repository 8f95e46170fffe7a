package telegram

import (
	"cmp"
	"time"

	"github.com/longshore-bridge/longshore/media"
)

// file is any kind of file.
type file struct {
	ID   string `json:"file_id"`
	Name string `json:"file_name"`
	MIME string `json:"mime_type"`
	Size int64  `json:"file_size"`
	kind media.Kind
}

// files are those of a message: an animation comes as a document, too, and a photo
// in several sizes, the last of which is the largest.
func (m *message) files() []file {
	one := func(f *file, kind media.Kind, name, mime string) []file {
		mine := *f
		mine.kind, mine.Name, mine.MIME = kind, cmp.Or(f.Name, name), cmp.Or(f.MIME, mime)
		return []file{mine}
	}
	switch {
	case m.Animation != nil:
		return one(m.Animation, media.Video, "animation.mp4", "video/mp4")
	case m.Document != nil:
		return one(m.Document, media.Document, "file", "")
	case len(m.Photo) > 0:
		return one(&m.Photo[len(m.Photo)-1], media.Image, "photo.jpg", "image/jpeg")
	case m.Video != nil:
		return one(m.Video, media.Video, "video.mp4", "video/mp4")
	case m.Note != nil:
		return one(m.Note, media.Video, "video.mp4", "video/mp4")
	case m.Audio != nil:
		return one(m.Audio, media.Audio, "audio.mp3", "audio/mpeg")
	case m.Voice != nil:
		return one(m.Voice, media.Voice, "voice.ogg", "audio/ogg")
	case m.Sticker != nil:
		return one(m.Sticker, media.Sticker, "sticker.webp", "image/webp")
	}
	return nil
}

func (f file) info(at time.Time) media.Info {
	kind := f.kind
	if kind == media.Document {
		kind = media.KindByName(f.Name)
	}
	return media.Claimed(kind, f.Name, f.MIME, uint64(max(0, f.Size)), at)
}
