package telegram_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/ladder"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/media"
)

// inbox takes what members write.
type inbox chan channel.Inbound

func (in inbox) Receive(_ context.Context, m channel.Inbound) error {
	m.Entry = nil
	in <- m
	return nil
}

func (inbox) Report(context.Context, groups.JID, string, channel.State) {}

// run runs the channel until the test ends.
func (w *world) run(t *testing.T) *world {
	t.Helper()
	return w.runTo(t, nil)
}

func (w *world) runTo(t *testing.T, in inbox) *world {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.ch.Run(ctx, in) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for late := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		if up, detail := w.ch.(channel.Status).Connected(); up {
			return w
		} else if time.Now().After(late) {
			t.Fatal(detail)
		}
	}
}

const messageID = "00112233445566778899aabbccddeeff"

func text(s string) channel.Message { return memory.Text(messageID, desk, s) }

func wantError(t *testing.T, err error, class channel.Class, code string) *channel.Error {
	t.Helper()
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != class || e.Code != code {
		t.Fatalf("%v, want %s %s", err, class, code)
	}
	return e
}

func TestALostAnswerIsAmbiguousAtOnce(t *testing.T) {
	w := newWorld(t).run(t)
	w.Next("sendMessage", telegramtest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), text("once"))
	wantError(t, err, channel.Ambiguous, "no_answer")
	if !channeltest.Blind(w.ch) {
		t.Error("the channel is not blind")
	}
	if all := w.WaitFor(t, deskID, 1); len(all) != 1 {
		t.Errorf("members see %v", all)
	}
}

func TestAFileThatWasNotWhollyReadWasNotSent(t *testing.T) {
	w := newWorld(t).run(t)
	m := memory.File(messageID, desk, "large.bin", make([]byte, 8<<20))
	open := m.Files[0].Open
	m.Files[0].Content = channeltest.Opens(func() (io.ReadSeekCloser, error) {
		f, err := open()
		return torn{f}, err
	})
	_, err := w.ch.Send(t.Context(), m)
	if err == nil || channel.ClassOf(err) != channel.Passing {
		t.Errorf("%v, want a passing error", err)
	}
	if all := w.WaitFor(t, deskID, 0); len(all) != 0 {
		t.Errorf("members see %v", all)
	}
}

// torn breaks after its first bytes.
type torn struct{ io.ReadSeekCloser }

func (f torn) Read(p []byte) (int, error) {
	if at, err := f.Seek(0, io.SeekCurrent); err != nil || at > 1<<20 {
		return 0, errors.New("the disk is broken")
	}
	return f.ReadSeekCloser.Read(p)
}

func TestTelegramsWishToWaitIsObeyed(t *testing.T) {
	w := newWorld(t).run(t)
	w.Next("sendMessage", telegramtest.Fault{Status: 429, Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 17","parameters":{"retry_after":17}}`})
	_, err := w.ch.Send(t.Context(), text("slowly"))
	if e := wantError(t, err, channel.Passing, "rate_limited"); e.RetryAfter != 17*time.Second {
		t.Errorf("waits %s", e.RetryAfter)
	}
}

func TestAGroupThatBecameASupergroupIsFollowed(t *testing.T) {
	w := newWorld(t).run(t)
	w.Next("sendMessage", telegramtest.Fault{Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1002}}`})
	for range 2 {
		r, err := w.ch.Send(t.Context(), text("still here"))
		if err != nil {
			t.Fatal(err)
		}
		t.Log(r.Note)
	}
	if all := w.WaitFor(t, officeID, 2); len(all) != 2 {
		t.Errorf("the new chat has %v", all)
	}
}

func TestATopicThatIsGoneIsTold(t *testing.T) {
	w := newWorld(t).run(t)
	w.Next("sendMessage", telegramtest.Fault{Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: message thread not found"}`})
	m := text("where")
	m.Thread = "7"
	for _, thread := range []string{"7", "no number"} {
		m.Thread = thread
		r, err := channeltest.Descend(t.Context(), w.ch, m)
		if err != nil || !strings.Contains(r.Note, "the topic is gone, so it goes to the chat itself") {
			t.Errorf("%v, %v", r, err)
		}
	}
}

// Each word, however it is written, is known for what it refuses, and no row hides another.
func TestEveryWordThatRefusesAFormGoesOneRungDown(t *testing.T) {
	var w *world
	i := 0
	for _, row := range telegram.Refusals {
		for said := range strings.SplitSeq(row.On, "|") {
			if row.Form == "" {
				continue
			}
			if i%20 == 0 { // the rate of one bot
				w = newWorld(t).run(t)
			}
			i++
			m := sends(desk, media.Image, media.Image)
			if m.Thread = "7"; row.Form != channel.FormAlbum {
				m.Files = m.Files[:1]
			}
			m.ReplyTo = "1"
			w.refuse(m, strings.ToUpper(said))
			_, err := w.ch.Send(t.Context(), m)
			if e := wantError(t, err, channel.Permanent, row.Code); e.Form != row.Form || e.Message != row.Words {
				t.Errorf("%s: %+v", said, e)
			}
			if _, note, ok := ladder.Down(m, err, w.ch.Limits()); !ok || !strings.HasPrefix(note, row.Words+", so it goes ") {
				t.Errorf("%s: %q", said, note)
			}
			if all := w.WaitFor(t, deskID, 0); len(all) != 0 {
				t.Errorf("%s: members see %v", said, all)
			}
		}
	}
	if i < 30 {
		t.Errorf("%d words refuse a form", i)
	}
}

// The member takes no voice notes, and the chat no music either.
func TestAVoiceNoteThatIsForbiddenGoesAsAudioElseAsADocument(t *testing.T) {
	for _, method := range []string{"sendAudio", "sendDocument"} {
		w := newWorld(t).run(t)
		m := memory.File(messageID, desk, "hello.ogg", []byte("OggS"))
		m.Files[0].Kind = media.Voice
		w.refuse(m, "VOICE_MESSAGES_FORBIDDEN")
		want := "the member takes no voice notes, so it goes as audio"
		if method == "sendDocument" {
			w.Next("sendAudio", telegramtest.Fault{Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: not enough rights to send music to the chat"}`})
			want += "; the chat takes no music, so it goes as a document"
		}
		r, err := channeltest.Descend(t.Context(), w.ch, m)
		if got := w.WaitFor(t, deskID, 1); err != nil || len(got) != 1 || got[0].Method != method || r.Note != want {
			t.Errorf("%s: %+v, %v; members see %+v", method, r, err, got)
		}
	}
}

func TestWhatTelegramRefusesHasARemedy(t *testing.T) {
	w := newWorld(t).run(t)
	for body, want := range map[string]struct {
		class channel.Class
		code  string
	}{
		`{"ok":false,"error_code":403,"description":"Forbidden: bot was kicked from the supergroup chat"}`:               {channel.Permanent, "not_a_member"},
		`{"ok":false,"error_code":400,"description":"Bad Request: not enough rights to send text messages to the chat"}`: {channel.Permanent, "not_allowed"},
		`{"ok":false,"error_code":409,"description":"Conflict: terminated by other getUpdates request"}`:                 {channel.Held, "telegram_in_use"},
		`{"ok":false,"error_code":401,"description":"Unauthorized"}`:                                                     {channel.Held, "telegram_token_refused"},
		`{"ok":false,"error_code":400,"description":"Bad Request: something \u001b[31mnew"}`:                             {channel.Permanent, "message_refused"},
	} {
		w.Next("sendMessage", telegramtest.Fault{Status: 403, Body: body})
		_, err := w.ch.Send(t.Context(), text("no"))
		if e := wantError(t, err, want.class, want.code); strings.Contains(err.Error(), "\x1b") || e.Code != "message_refused" && e.Hint == "" {
			t.Errorf("%q, remedy %q", err, e.Hint)
		}
	}
}

func TestNoErrorHoldsTheToken(t *testing.T) {
	w := newWorld(t)
	w.setup.Log = slog.New(slog.DiscardHandler)
	w.made(t).run(t)
	w.CloseClientConnections()
	w.Listener.Close()
	_, err := w.ch.Send(t.Context(), text("gone"))
	if err == nil || strings.Contains(err.Error(), telegramtest.Token) {
		t.Errorf("%v", err)
	}
}
