package media

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// styled applies the style that the sender asked for.
func styled(info Info, head []byte, as Style) (Info, error) {
	switch as {
	case "", Auto, AsOriginal:
		return info, nil
	case AsDocument:
		info.Kind, info.Note = Document, ""
		return info, nil
	case AsVoice:
		switch {
		case info.Kind == Audio && opus(head):
			info.Kind = Voice
			return info, nil
		case info.Kind == Audio:
			info.Note = "a voice note must be Ogg Opus, and this is " + info.MIME + "; it goes as audio. ffmpeg -i IN -c:a libopus -ar 16000 -ac 1 OUT.ogg makes one"
			return info, nil
		}
		return Info{}, impossible(info, "a voice note", "send Ogg Opus audio at 16 kHz in mono (ffmpeg -i IN -c:a libopus -ar 16000 -ac 1 OUT.ogg), or leave out `as`")
	case AsGIF:
		switch {
		case info.MIME == "video/mp4" && info.Kind == Video:
			info.Loop = true
			return info, nil
		case info.Kind == Video:
			info.Note = "a looping GIF must be MP4, and this is " + info.MIME + "; it goes as a video"
			return info, nil
		case info.MIME == "image/gif" && info.Kind == Image:
			info.Note = "a looping GIF must be MP4, and this is image/gif; it goes as a picture, which some platforms show still"
			return info, nil
		}
		return Info{}, impossible(info, "a GIF", "send an MP4 video without sound, or leave out `as`")
	case AsSticker:
		switch {
		case info.MIME == "image/webp" && info.Kind == Image:
			info.Kind = Sticker
			return info, nil
		case info.Kind == Image:
			info.Note = "a sticker must be WebP, and this is " + info.MIME + "; it goes as a picture"
			return info, nil
		}
		return Info{}, impossible(info, "a sticker", "send a WebP picture, or leave out `as`")
	}
	return Info{}, &refusal.Error{
		Code:    "style_unknown",
		Message: fmt.Sprintf("%q is not a known form", Printable(string(as))),
		Hint:    "use one of " + styleList() + ", or leave out `as`",
	}
}

func impossible(info Info, form, hint string) error {
	return &refusal.Error{
		Code:    "style_impossible",
		Message: fmt.Sprintf("%s is %s and cannot be sent as %s", info.Name, info.MIME, form),
		Hint:    hint,
	}
}

func styleList() string {
	var names []string
	for _, s := range Styles() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// opus reports whether the first packet of an Ogg stream is the Opus header (RFC
// 7845, section 5.1). A page's header has 27 bytes and one more for each segment
// (RFC 3533, section 6).
func opus(head []byte) bool {
	const header, segments = 27, 26
	if !bytes.HasPrefix(head, []byte("OggS")) || len(head) < header {
		return false
	}
	body := header + int(head[segments])
	return len(head) >= body && bytes.HasPrefix(head[body:], []byte("OpusHead"))
}
