package media

import (
	"path"
	"slices"
	"strings"
)

// Tracks are the codecs of a film or a sound, as ffmpeg names them: h264, hevc, aac, opus.
// Of H.264 that phones do not play the name says why: "h264 4:4:4".
type Tracks struct {
	Video string `json:"video,omitempty"` // of the first track with pictures; empty: there is none, or nobody knows
	Audio string `json:"audio,omitempty"` // of the first track with sound
}

// BrowserCodecs are the codecs that Chromium, Firefox and Safari play:
// developer.mozilla.org, Web video codec guide and Web audio codec guide. HEVC depends on
// the machine, and H.264 that is not of 8 bits and 4:2:0 on the browser.
func BrowserCodecs() []string {
	return []string{"h264", "vp8", "vp9", "av1", "aac", "mp3", "opus", "vorbis", "flac", "pcm"}
}

// BrowserTypes are the types of files that browsers show as a kind, by the same guides; nil
// if they show none.
func BrowserTypes(k Kind) []string {
	switch k {
	case Image:
		return []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	case Video:
		return []string{"video/mp4", "video/webm", "video/3gpp"}
	case Audio:
		return []string{"audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg", "audio/wav", "audio/flac", "audio/webm"}
	case Voice:
		return []string{"audio/ogg"}
	}
	return nil
}

// Unplayed is the codec of a file that the platform's apps do not play in this kind; empty
// if they play all that is known of it.
func (l Limit) Unplayed(t Tracks) string {
	for _, codec := range []string{t.Video, t.Audio} {
		if codec != "" && len(l.Codecs) > 0 && !slices.Contains(l.Codecs, codec) {
			return codec
		}
	}
	return ""
}

// containers are types of films, each with the type of such a file that has no picture.
var containers = map[string]string{
	"video/mp4": "audio/mp4", "video/quicktime": "audio/mp4", "video/3gpp": "audio/mp4", "video/3gpp2": "audio/mp4",
	"video/webm": "audio/webm", "video/x-matroska": "audio/x-matroska", "video/ogg": "audio/ogg",
}

// follow gives a film without picture the type of a sound, and a sound with pictures that of
// a film. A cover is no picture.
func (i Info) follow(t Tracks) Info {
	i.Tracks = t
	sound := containers[i.MIME]
	switch {
	case i.Kind == Video && sound != "" && t.Video == "" && t.Audio != "":
		i.Kind, i.MIME = Audio, sound
	case i.Kind == Audio && t.Video != "" && t.Video != "mjpeg" && t.Video != "png":
		for _, film := range []string{"video/mp4", "video/webm", "video/x-matroska", "video/ogg"} {
			if containers[film] == i.MIME {
				i.Kind, i.MIME = Video, film
			}
		}
	}
	return i
}

// renamed gives a file that is shown as another kind than its name says the extension of
// its type: some apps go by that.
func (i Info) renamed() Info {
	ext := path.Ext(i.Name)
	if by, ok := byExt(extension(i.Name)); ok && i.Kind != Document && i.Tracks != (Tracks{}) && kindOf(by.mime) != Document && kindOf(by.mime) != kindOf(i.MIME) {
		i.Name = SafeName(strings.TrimSuffix(i.Name, ext) + ExtensionFor(i.MIME))
	}
	return i
}
