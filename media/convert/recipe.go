package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// Recipe is one way to convert a file.
type Recipe struct {
	Name   string     // of the result, with its extension; empty for WAV
	MIME   string     // of the result
	Kind   media.Kind // of the result
	Note   string     // for the agent: what was done
	output []string
	heic   bool // the source is read by readHEIC
}

// WAV makes sound into 16 kHz mono, as speech recognizers want it.
var WAV = Recipe{MIME: "audio/wav", output: []string{"-vn", "-sn", "-ar", "16000", "-ac", "1", "-c:a", "pcm_s16le", "-f", "wav"}}

// The edges of a picture and of a film that was converted, in pixels.
const (
	pictureEdge = "2560"
	filmEdge    = "1280"
)

// within scales down to an edge, to even sizes.
func within(edge string) string {
	return "scale=w='min(" + edge + ",iw)':h='min(" + edge + ",ih)':force_original_aspect_ratio=decrease:force_divisible_by=2"
}

// jpeg converts a picture, which the filters before make of the source. Without
// transparency, whose colours are arbitrary, it has a white ground.
func jpeg(before string) []string {
	return []string{"-frames:v", "1", "-an", "-sn", "-filter_complex",
		"[0:v:0]" + before + within(pictureEdge) + ",format=rgba,split[a][b];[a]lutrgb=r=255:g=255:b=255:a=255[ground];[ground][b]overlay=format=auto,format=yuvj420p",
		"-c:v", "mjpeg", "-q:v", "4", "-f", "mjpeg"}
}

// film converts to what every phone plays: H.264 of the Main profile without B-frames, as
// WhatsApp's Cloud API wants it (developers.facebook.com, Video messages).
func film(sound ...string) []string {
	return slices.Concat([]string{"-map", "0:v:0", "-map", "0:a:0?", "-sn", "-vf", within(filmEdge), "-c:v", "libx264", "-preset", "veryfast",
		"-crf", "25", "-pix_fmt", "yuv420p", "-profile:v", "main", "-bf", "0"}, sound, []string{"-movflags", "+faststart", "-f", "mp4"})
}

// For says how to convert a file so that a channel with these limits shows it. info
// is the file as media.Classify finds it without a style, and as the style that the
// sender asks for. ok is false if the file needs no conversion, or none helps.
func For(info media.Info, as media.Style, l media.Limits) (r Recipe, ok bool) {
	if info.Kind == media.Document && !pictures[info.MIME] && info.MIME != "image/gif" {
		return Recipe{}, false
	}
	shows := func(k media.Kind, mime string) bool {
		limit := l.Kinds[k]
		types := limit.MIME
		if len(types) == 0 {
			types = media.BrowserTypes(k)
		}
		return limit.Bytes > 0 && slices.Contains(types, mime)
	}
	from, plays := word(info), shows(info.Kind, info.MIME)
	if codec := l.Kinds[info.Kind].Unplayed(info.Tracks); codec != "" {
		from, plays = from+" ("+codec+")", false
	}
	auto := as == "" || as == media.Auto
	picture := auto && pictures[info.MIME] && shows(media.Image, "image/jpeg")
	clip := shows(media.Video, "video/mp4")
	switch {
	case info.MIME == "image/gif" && clip && (as == media.AsGIF || auto && !shows(media.Image, "image/gif")):
		return made(info, media.Video, "video/mp4", film("-an"), "converted from gif to mp4"), true
	case info.Kind == media.Audio && as == media.AsVoice && (info.MIME != "audio/ogg" || info.Tracks.Audio != "" && info.Tracks.Audio != "opus") && shows(media.Voice, "audio/ogg"):
		return made(info, media.Voice, "audio/ogg", []string{"-vn", "-sn", "-map", "0:a:0", "-ar", "16000", "-ac", "1", "-c:a", "libopus", "-b:a", "24k", "-f", "ogg"},
			"converted from "+word(info)+" to Ogg Opus"), true
	case picture && !(info.Kind == media.Image && shows(media.Image, info.MIME)):
		return ofPicture(info, "converted from "+word(info)+" to jpeg"), true
	case picture && info.MIME != "image/gif" && info.Size > l.Kinds[media.Image].Bytes:
		return ofPicture(info, "made smaller, from "+media.Size(info.Size)), true
	case info.Kind == media.Audio && auto && !plays && shows(media.Audio, "audio/mp4"):
		return made(info, media.Audio, "audio/mp4", []string{"-vn", "-sn", "-map", "0:a:0", "-c:a", "aac", "-b:a", "128k", "-ac", "2", "-movflags", "+faststart", "-f", "ipod"},
			"converted from "+from+" to m4a"), true
	case info.Kind == media.Video && clip && (as == media.AsGIF && (!plays || info.MIME != "video/mp4") || auto && !plays):
		sound := []string{"-c:a", "aac", "-b:a", "128k", "-ac", "2"}
		if as == media.AsGIF {
			sound = []string{"-an"}
		}
		return made(info, media.Video, "video/mp4", film(sound...), "converted from "+from+" to mp4"), true
	}
	return Recipe{}, false
}

// pictures are the types that ffmpeg makes a JPEG of.
var pictures = map[string]bool{
	"image/jpeg": true, "image/png": true, "image/webp": true, "image/tiff": true, "image/bmp": true, "image/heic": true, "image/heif": true, "image/avif": true,
}

func ofPicture(info media.Info, note string) Recipe {
	r := made(info, media.Image, "image/jpeg", jpeg(""), note)
	r.heic = info.MIME == "image/heic" || info.MIME == "image/heif"
	return r
}

// made is a recipe for a file, whose result bears the file's name with another
// extension.
func made(info media.Info, kind media.Kind, mime string, output []string, note string) Recipe {
	stem := strings.TrimSuffix(info.Name, path.Ext(info.Name))
	return Recipe{Kind: kind, Name: media.SafeName(stem + media.ExtensionFor(mime)), MIME: mime, Note: note, output: output}
}

// word is what people call a file's type: mov, heic.
func word(info media.Info) string {
	return strings.TrimPrefix(media.ExtensionFor(info.MIME), ".")
}
