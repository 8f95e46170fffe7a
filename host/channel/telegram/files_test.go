package telegram_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/media"
)

func TestTextAndCaptionsAreFormattedByEntities(t *testing.T) {
	w := newWorld(t).run(t)
	l := w.ch.Limits()
	written := markup.Parts("😀 **bold** `a<b>` [here](https://x.example/?a=1&b=2)\n```sh\nls\n```", l.Markup, l.Text, l.Unit)[0]
	if _, err := w.ch.Send(t.Context(), text(written)); err != nil {
		t.Fatal(err)
	}
	m := memory.File(messageID, desk, "a.txt", []byte("x"))
	m.Text = written
	r, err := w.ch.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	want := []telegramtest.Entity{{Type: "bold", Offset: 3, Length: 4}, {Type: "code", Offset: 8, Length: 4}, {Type: "text_link", Offset: 13, Length: 4, URL: "https://x.example/?a=1&b=2"}, {Type: "pre", Offset: 18, Length: 2, Language: "sh"}}
	for _, m := range w.WaitFor(t, deskID, 2) {
		if diff := cmp.Diff(want, m.Entities); diff != "" || m.Text != "😀 bold a<b> here\nls" {
			t.Errorf("%s shows %q: %s", m.Method, m.Text, diff)
		}
	}
	if err := w.ch.(channel.Editor).Edit(t.Context(), channel.Change{Chat: desk, Target: r.ID, Files: true, Text: "<i>new</i>"}); err != nil {
		t.Error(err)
	}
	if m := w.WaitFor(t, deskID, 2)[1]; m.Text != "new" || len(m.Entities) != 1 {
		t.Errorf("edited is %+v", m)
	}
	bold := markup.Parts(strings.Repeat("**😀a** ", 450), l.Markup, l.Text, l.Unit)
	for _, part := range bold {
		if _, err := w.ch.Send(t.Context(), text(part)); err != nil {
			t.Error(err)
		}
	}
	if len(bold) != 1 { // of 1,800 units, whatever their format takes
		t.Errorf("%d parts", len(bold))
	}
}

// sends are files of these kinds in one message.
func sends(chat groups.JID, kinds ...media.Kind) channel.Message {
	var m channel.Message
	for i, k := range kinds {
		name := string(rune('a'+i)) + map[media.Kind]string{media.Image: ".png", media.Video: ".mp4", media.Audio: ".mp3"}[k]
		one := memory.File(messageID, chat, name, []byte(name))
		one.Files[0].Kind, one.Files[0].MIME = k, media.MIMEByName(name)
		one.Files = append(m.Files, one.Files...)
		m = one
	}
	return m
}

func TestAnAlbumIsOneMessageAndGoesAsOne(t *testing.T) {
	w := newWorld(t).run(t)
	m := sends(desk, media.Image, media.Video)
	m.Text = "<b>both</b>"
	r, err := w.ch.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	all := w.WaitFor(t, deskID, 1)
	if got := all[0]; got.Method != "sendMediaGroup" || !slices.Equal(got.Kinds, []string{"photo", "video"}) || got.Text != "both" || len(got.Entities) != 1 {
		t.Errorf("%+v", got)
	}
	if err := w.ch.(channel.Unsender).Unsend(t.Context(), channel.Change{Chat: desk, Target: r.ID}); err != nil || !w.WaitFor(t, deskID, 1)[0].Gone {
		t.Errorf("the album is still there: %v", err)
	}
	w.Next("sendMediaGroup", telegramtest.Fault{Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: failed to send message #1 with the error message \"PHOTO_INVALID_DIMENSIONS\""}`})
	if _, err := w.ch.Send(t.Context(), sends(desk, media.Image, media.Image)); err != nil {
		t.Fatal(err)
	}
	if got := w.WaitFor(t, deskID, 2)[1]; !slices.Equal(got.Kinds, []string{"document", "document"}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatMembersVoteComesInAlsoAfterARestart(t *testing.T) {
	w, in := newWorld(t), make(inbox, 1)
	var r channel.Receipt
	t.Run("before", func(t *testing.T) {
		w.runTo(t, in)
		m := text("Which <one>?")
		m.Thread, m.Poll = "7", &channel.Poll{Choices: []string{"Monday", "Tuesday"}, Several: true}
		var err error
		if r, err = w.ch.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	})
	w.made(t).runTo(t, in)
	asked := w.WaitFor(t, deskID, 1)[0]
	if asked.Text != "Which <one>?" || !asked.Several || !slices.Equal(asked.Choices, []string{"Monday", "Tuesday"}) {
		t.Errorf("%+v", asked)
	}
	for _, options := range [][]int{{1}, {}} {
		w.Vote(asked.ID, ada, options...)
		m := <-in
		if m.Kind != channel.KindVote || m.Chat != desk || m.Thread != "7" || m.Target != r.ID || m.Sender != "77" || len(m.Choices) != len(options) || len(options) == 1 && m.Choices[0] != "Tuesday" {
			t.Errorf("%+v", m)
		}
	}
	for range 2 {
		if err := w.ch.(channel.PollEnder).EndPoll(t.Context(), channel.Change{Chat: desk, Target: r.ID, Text: "over"}); err != nil || !w.WaitFor(t, deskID, 1)[0].Closed {
			t.Error(err)
		}
	}
}

// withDepot has the other chat as the depot.
func withDepot(t *testing.T) *world {
	w := newWorld(t)
	w.setup.Settings.(*telegram.Settings).Depot = office
	return w.made(t)
}

func TestADepotGetsTheBytesOnce(t *testing.T) {
	w := withDepot(t)
	m := memory.File(messageID, desk, "report.bin", make([]byte, 1<<20))
	t.Run("before", func(t *testing.T) {
		if _, err := w.run(t).ch.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	})
	w.made(t).run(t)
	if _, err := w.ch.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if all := w.WaitFor(t, deskID, 2); all[1].Files[0].SHA256 != m.Files[0].SHA256 || all[1].Files[0].Name != "report.bin" {
		t.Errorf("members see %+v", all)
	}
	if all := w.WaitFor(t, officeID, 1); len(all) != 1 {
		t.Errorf("the depot has %d", len(all))
	}
	w.Forget()
	if _, err := w.ch.Send(t.Context(), m); err != nil || len(w.WaitFor(t, officeID, 2)) != 2 || len(w.WaitFor(t, deskID, 3)) != 3 {
		t.Errorf("Telegram forgot the file: %v", err)
	}
	album := sends(desk, media.Image, media.Image)
	if _, err := w.ch.Send(t.Context(), album); err != nil || w.Calls("sendPhoto") != 2 {
		t.Errorf("an album: %v", err)
	}
}

func TestOnlyTheDepotsUploadIsRepeated(t *testing.T) {
	w := withDepot(t).run(t)
	m := memory.File(messageID, desk, "report.bin", make([]byte, 1<<20))
	for _, fault := range []telegramtest.Fault{{Lost: true}, {Torn: true}, {Status: 502, Body: "bad gateway"}} {
		w.Next("sendDocument", fault)
		if _, err := w.ch.Send(t.Context(), m); err == nil || channel.ClassOf(err) != channel.Passing {
			t.Errorf("%+v in the depot: %v, want a passing error", fault, err)
		}
	}
	w.Next("sendDocument", telegramtest.Fault{}, telegramtest.Fault{Lost: true})
	_, err := w.ch.Send(t.Context(), m)
	wantError(t, err, channel.Ambiguous, "no_answer")
	if all := w.WaitFor(t, deskID, 1); len(all) != 1 {
		t.Errorf("members see %+v", all)
	}
}

func TestADepotThatCannotBeWrittenHoldsFilesAndNoTexts(t *testing.T) {
	w := withDepot(t)
	w.setup.Settings.(*telegram.Settings).Depot = "tg:-1999"
	w.made(t).run(t)
	_, err := w.ch.Send(t.Context(), memory.File(messageID, desk, "report.bin", []byte("x")))
	if e := wantError(t, err, channel.Held, "telegram_depot"); !strings.Contains(e.Hint, "depot") {
		t.Error(e.Hint)
	}
	if _, err := w.ch.Send(t.Context(), text("but this")); err != nil {
		t.Error(err)
	}
}

func TestABodyThatWasNotWhollyReadWasNotSent(t *testing.T) {
	w := newWorld(t).run(t)
	w.Next("sendDocument", telegramtest.Fault{Torn: true})
	_, err := w.ch.Send(t.Context(), memory.File(messageID, desk, "large.bin", make([]byte, 32<<20)))
	if err == nil || channel.ClassOf(err) != channel.Passing {
		t.Errorf("%v, want a passing error", err)
	}
}
