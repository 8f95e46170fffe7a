package discord_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/discord/discordtest"
)

// fetched are the bytes of a member's file.
func (w *world) fetched(t *testing.T, chat channel.Inbound, f channel.Attachment) []byte {
	t.Helper()
	body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: chat.Chat, Ref: f.Ref})
	if err != nil {
		t.Errorf("%s: %v", f.Name, err)
		return nil
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Error(err)
	}
	return data
}

func TestThePictureOfAStickerIsFetched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	for i, ext := range []string{"png", "gif"} {
		want := []byte("a picture of " + ext)
		w.Document(id(w.desk), w.ada, fmt.Sprintf(`{"sticker_items":[{"id":%q,"name":"wave","format_type":%d}]}`, w.AddSticker(ext, want), 1+3*i))
		m := in.Wait(t, i+1)[i]
		if len(m.Files) != 1 || m.Files[0].Name != "wave."+ext || m.Files[0].MIME != "image/"+ext || !bytes.Equal(w.fetched(t, m, m.Files[0]), want) {
			t.Errorf("the sticker came in as %+v", m)
		}
	}
}

// A forwarded file, and one of a quoted forward, could not be had once its address ended.
func TestAForwardedFileIsFetchedAfterItsAddressEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	file := w.Attachment(id(w.desk), "Übersicht.pdf", "application/pdf", []byte("%PDF"))
	ended := strings.Replace(file, "/file\"", "/ended\"", 2)
	forward := func(file string) string {
		return `{"message_reference":{"type":1,"message_id":"1","channel_id":"2"},"message_snapshots":[{"message":{"content":"look","attachments":[` + file + `]}}]}`
	}
	is := w.Document(id(w.desk), w.ada, forward(ended))
	in.Wait(t, 1)
	w.Post(id(w.desk), w.ada, "is this true?", discordtest.Says{ReplyTo: is})
	all := in.Wait(t, 2)
	w.Change(id(w.desk), is, forward(file))
	for i, f := range []channel.Attachment{all[0].Files[0], all[1].Quote.Files[0]} {
		if got := w.fetched(t, all[i], f); f.Name != "Übersicht.pdf" || string(got) != "%PDF" {
			t.Errorf("%q was fetched of %s", got, f.Name)
		}
	}
}

// After a restart, members of a server were taken for admins who write in private.
func TestWhatIsReadLaterMakesNobodyAnAdmin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.away(t, "while the host was away")
	w.Ahead = 0
	in, _ := w.made(t).run(t)
	if m := in.Wait(t, 1)[0]; m.Role != channel.RoleUnknown || m.Direct {
		t.Errorf("came in as %+v", m)
	}
}

// One message of another form than Discord documents kept the bot deaf for ever.
func TestAMessageOfAnotherFormHidesNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.away(t, "before it")
	w.Document(id(w.desk), w.ada, `{"content":["a","b"]}`)
	w.Post(id(w.desk), w.ada, "after it", discordtest.Says{})
	w.Ahead = 0
	in, _ := w.made(t).run(t)
	in.Wait(t, 3)
	w.Document(id(w.desk), w.ada, `{"poll":"tomorrow"}`)
	got := in.Wait(t, 4)
	if m := got[3]; m.Text != channel.NotShown("message") || m.Told != "message" || m.Role != channel.RoleMember {
		t.Errorf("came in %+v", m)
	}
	if got[0].Text != "before it" || got[1].Text != channel.NotShown("message") || got[1].Told != "message" || got[2].Text != "after it" {
		t.Errorf("came in %+v", got)
	}
}

// Members who pick the bot from Discord's list often pick its role of the same name.
func TestAMentionOfTheBotsOwnRoleSpeaksToTheAssistant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	w.Dispatch("GUILD_UPDATE", `{"id":"`+discordtest.GuildID+`","owner_id":"1","roles":[{"id":"71","permissions":"0","tags":{"bot_id":"`+w.BotID+`"}},{"id":"72","permissions":"0"}]}`)
	for i, role := range []string{"72", "71"} {
		w.Document(id(w.desk), w.ada, `{"content":"<@&`+role+`> look","mention_roles":["`+role+`"]}`)
		if m := in.Wait(t, i+1)[i]; m.Direct != (role == "71") {
			t.Errorf("a mention of %s came in as %+v", role, m)
		}
	}
}

// Messages that a moderator deleted together stayed.
func TestMessagesThatAreDeletedTogetherAreGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	var ids []string
	for i := range 3 {
		ids = append(ids, w.Post(id(w.desk), w.ada, "spam", discordtest.Says{}))
		in.Wait(t, i+1)
	}
	w.Dispatch("MESSAGE_DELETE_BULK", `{"ids":["`+ids[0]+`","`+ids[2]+`"],"channel_id":"`+id(w.desk)+`","guild_id":"`+discordtest.GuildID+`"}`)
	got := in.Wait(t, 5)[3:]
	for i, m := range got {
		if m.Kind != channel.KindDeletion || m.Target != ids[2*i] || m.Sender != w.ada {
			t.Errorf("deleted was %+v", m)
		}
	}
}

// Without the intent, each message of a server came in empty.
func TestWhatDiscordHidesDoesNotComeInEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Flags = 0
	in, _ := w.run(t)
	w.Document(id(w.desk), w.ada, `{"content":""}`)
	w.Document(id(w.desk), w.ada, `{"content":"<@1002> look","mentions":[{"id":"1002","username":"longshore"}]}`)
	if m := in.Wait(t, 1)[0]; m.Text != "@longshore look" || !m.Direct {
		t.Errorf("came in %+v", m)
	}
}

func TestAnEditOfAPollOrASystemMessageIsNoEditOfWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.run(t)
	poll := `{"content":"","poll":{"question":{"text":"When?"},"answers":[{"answer_id":1,"poll_media":{"text":"Mon"}}]}`
	is := w.Document(id(w.desk), w.ada, poll+`}`)
	in.Wait(t, 1)
	w.Change(id(w.desk), is, poll+`,"edited_timestamp":"2026-01-01T00:00:00+00:00","embeds":[{"type":"link","url":"https://x","title":"a preview"}]}`)
	w.Post(id(w.desk), w.ada, "end", discordtest.Says{})
	if got := in.Wait(t, 2); got[1].Text != "end" {
		t.Errorf("came in %+v", got)
	}
}
