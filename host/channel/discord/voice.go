package discord

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// isVoice is the flag of a voice message: one file of sound, with its duration and waveform, and
// nothing else. discord.com/developers/docs/resources/message, Voice Messages.
const isVoice = 1 << 13

// spoken returns the duration and waveform of m, if m is a voice note that Discord shows as one:
// Ogg Opus of known length. Otherwise the facts are zero. It reads the file once more. If that
// fails, the upload returns the error.
func (d *Discord) spoken(ctx context.Context, m channel.Message) probe.Facts {
	if len(m.Files) != 1 || m.Files[0].Kind != media.Voice || m.Text != "" || m.Poll != nil {
		return probe.Facts{}
	}
	src, err := m.Files[0].Open()
	if err != nil {
		return probe.Facts{}
	}
	defer src.Close()
	f := probe.New("", nil).Read(ctx, src, media.Voice, m.Files[0].MIME)
	f.Opus = f.Opus && f.Seconds > 0 && len(f.Waveform) > 0
	return f
}

// voice makes a message with one file a voice message.
func voice(out *outgoing, f probe.Facts) {
	wave := make([]byte, len(f.Waveform))
	for i, v := range f.Waveform {
		wave[i] = byte(int(min(v, 100)) * 255 / 100)
	}
	out.Flags = isVoice
	out.Files[0].Seconds, out.Files[0].Wave = float64(f.Seconds), wave
}
