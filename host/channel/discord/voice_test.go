package discord_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// spoken is a message with a voice note of two seconds.
func (w *world) spoken() (channel.Message, []byte) {
	content := probetest.Opus(100)
	m := w.files("", string(content))
	m.Files[0].Info = media.Info{Name: "hello.ogg", Kind: media.Voice, MIME: "audio/ogg", Size: int64(len(content))}
	m.Files[0].Content = channel.Bytes(content)
	return m, content
}

func TestAVoiceNoteIsAVoiceMessageWithItsWaveform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t)
	m, content := w.spoken()
	w.sent(t, m)
	got := w.FromBot(id(w.desk))[0]
	if !got.Voice || got.Text != "" || len(got.Files) != 1 || got.Files[0].Size != int64(len(content)) {
		t.Fatalf("the chat shows %+v", got)
	}
	f := got.Files[0]
	if f.Seconds != 2 || len(f.Wave) != 64 || slices.Max(f.Wave) != 255 || !slices.IsSorted(f.Wave) {
		t.Errorf("%v seconds, %v", f.Seconds, f.Wave)
	}
}

func TestAVoiceNoteIsFoundAfterALostAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.NonceFor = 0
	w.run(t)
	m, _ := w.spoken()
	m.Since = time.Now()
	w.Next("create", discordtest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), m)
	is(t, "Send", err, channel.Ambiguous, "no_answer")
	if r, err := w.ch.(channel.Finder).Find(t.Context(), m); err != nil || r == nil || r.ID != w.FromBot(id(w.desk))[0].ID {
		t.Errorf("Find says %+v, %v", r, err)
	}
}

// A server may forbid voice messages, and a file may only claim to be one.
func TestAVoiceNoteThatDiscordDoesNotTakeIsAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t)
	w.NoVoice = true
	m, _ := w.spoken()
	r, err := channeltest.Descend(t.Context(), w.ch, m)
	if err != nil || !strings.Contains(r.Note, "takes no voice message of the bot's there, so it goes as audio") {
		t.Errorf("%+v, %v", r, err)
	}
	w.NoVoice = false
	m, content := w.spoken()
	silent := w.files("", string(make([]byte, len(content))))
	m.Files[0].SHA256 = silent.Files[0].SHA256
	m.Files[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) {
		return nopCloser{bytes.NewReader(make([]byte, len(content)))}, nil
	})
	w.sent(t, m)
	for _, got := range w.FromBot(id(w.desk)) {
		if got.Voice || len(got.Files) != 1 || got.Files[0].Name != "hello.ogg" {
			t.Errorf("the chat shows %+v", got)
		}
	}
}

func TestAVoiceNoteStaysInItsThreadAndCannotBeEdited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run(t)
	m, _ := w.spoken()
	m.Thread = w.AddThread(id(w.desk), "in here")
	w.sent(t, m)
	got := w.FromBot(id(w.desk))[0]
	if !got.Voice || got.Channel != m.Thread {
		t.Errorf("the chat shows %+v", got)
	}
	err := w.ch.(channel.Editor).Edit(t.Context(), channel.Change{Chat: w.desk, Thread: m.Thread, Target: got.ID, Text: "words"})
	is(t, "Edit", err, channel.Permanent, "not_supported")
}

func TestOfAMembersSoundsOnlyAVoiceMessageComesInAsVoice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	for i, voice := range []bool{true, false} {
		w.Post(id(w.desk), w.ada, "", discordtest.Says{Name: "sound.ogg", MIME: "audio/ogg", Data: probetest.Opus(50), Voice: voice})
		if got := in.Wait(t, i+1)[i]; len(got.Files) != 1 || (got.Files[0].Kind == media.Voice) != voice {
			t.Errorf("came in %+v", got)
		}
	}
}

// The host sends a caption as a message of its own, and no file beside a voice note, if
// the limits say so.
func TestAVoiceNoteSharesItsMessageWithNothing(t *testing.T) {
	if l := newWorld(t).ch.Limits().Kinds[media.Voice]; l.Caption != 0 || l.Album != "" || l.Bytes == 0 {
		t.Errorf("the limits of voice notes are %+v", l)
	}
}
