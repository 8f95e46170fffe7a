package whatsapp

import (
	"context"
	"io"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// facts is what the members' apps show of a file before they have it. All of
// it is for the eye: what cannot be read stays zero, and nothing fails.
type facts struct {
	width, height uint32
	seconds       uint32
	pages         uint32
	animated      bool
	waveform      []byte // 64 values from 0 to 100
	thumbnail     []byte // a small JPEG
}

// factsTime bounds all reading for one file, tools included.
const factsTime = 15 * time.Second

// look reads what can be known of a file in the form in which it goes.
func (s *session) look(ctx context.Context, f *channel.File, form form) facts {
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	src, err := f.Open()
	if err != nil {
		return facts{} // the upload will meet it too, and say so
	}
	defer src.Close()
	r := &seekReader{ctx: ctx, r: src}
	switch form {
	case formImage:
		return s.lookAtImage(r)
	case formSticker:
		w, h, animated := webpSize(r)
		return facts{width: w, height: h, animated: animated}
	case formVideo, formGIF:
		return s.lookAtVideo(ctx, r, src)
	case formVoice:
		v := readOpus(r)
		return facts{seconds: v.seconds, waveform: v.waveform}
	case formAudio:
		return facts{seconds: s.audioSeconds(ctx, f.MIME, r, src)}
	}
	if f.MIME == "application/pdf" {
		return s.lookAtPDF(ctx, r, src)
	}
	return facts{}
}

func (s *session) lookAtVideo(ctx context.Context, r io.ReadSeeker, src io.ReadSeeker) facts {
	v := readMP4(r)
	return facts{width: v.width, height: v.height, seconds: v.seconds, thumbnail: s.tools.frame(ctx, src)}
}

func (s *session) audioSeconds(ctx context.Context, mime string, r io.ReadSeeker, src io.ReadSeeker) uint32 {
	n := uint32(0)
	switch mime {
	case "audio/mp4":
		n = readMP4(r).seconds
	case "audio/ogg":
		n = readOpus(r).seconds
	case "audio/mpeg":
		n = mp3Seconds(r)
	}
	if n == 0 {
		n = s.tools.seconds(ctx, src)
	}
	return n
}

// seekReader is a file for the small readers: it ends with its context.
type seekReader struct {
	ctx context.Context
	r   io.ReadSeeker
}

func (s *seekReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

func (s *seekReader) Seek(off int64, whence int) (int64, error) { return s.r.Seek(off, whence) }

// roundSeconds never calls something that can be heard 0 seconds long.
func roundSeconds(d float64) uint32 {
	if d <= 0 || d > 1<<31 {
		return 0
	}
	return max(1, uint32(d+0.5))
}

// form is how a file goes to WhatsApp.
type form int

const (
	formDocument form = iota
	formImage
	formVideo
	formGIF
	formAudio
	formVoice
	formSticker
)

// formOf decides it: as the sender asked where WhatsApp's apps show that, else
// as a document, and then the note says why.
func formOf(f media.Info, limits media.Limits) (form, string) {
	as, shown := formDocument, true
	switch f.Kind {
	case media.Image:
		as, shown = formImage, f.MIME == "image/jpeg" || f.MIME == "image/png"
	case media.Video:
		as, shown = formVideo, f.MIME == "video/mp4" || f.MIME == "video/3gpp"
		if f.Loop && f.MIME == "video/mp4" {
			as = formGIF
		}
	case media.Voice:
		as = formVoice
		if f.MIME != "audio/ogg" {
			as, shown = formAudio, playable(f.MIME)
		}
	case media.Audio:
		as, shown = formAudio, playable(f.MIME)
	case media.Sticker:
		as, shown = formSticker, f.MIME == "image/webp"
	default:
		return formDocument, ""
	}
	if !shown {
		return formDocument, "sent as a document: WhatsApp does not show " + f.MIME + " in the chat"
	}
	if most := limits.Kinds[f.Kind].Bytes; f.Size > most {
		return formDocument, "sent as a document: it is " + media.Size(f.Size) + ", and WhatsApp shows " + string(f.Kind) + " up to " + media.Size(most)
	}
	return as, ""
}

// playable are the audio types that WhatsApp's apps play.
func playable(mime string) bool {
	switch mime {
	case "audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg":
		return true
	}
	return false
}
