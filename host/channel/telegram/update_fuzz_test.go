package telegram

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// FuzzUpdates: whatever Telegram or its members claim, what the host hears has an id and a
// chat of this platform, names of one printable line, and files with names that are safe. A
// message is never empty.
func FuzzUpdates(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":2,"date":3,"from":{"id":4,"first_name":"Ann"},"chat":{"id":-100,"type":"supergroup"},"text":"@our_bot hi","message_thread_id":9,"is_topic_message":true}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4,"first_name":"\u001b[31m\n"},"chat":{"id":5,"type":"private"},"document":{"file_id":"x","file_name":"../../etc/passwd","file_size":-1},"reply_to_message":{"message_id":1,"from":{"id":7}}}}`,
		`{"update_id":1,"edited_message":{"message_id":2,"edit_date":9,"from":{"id":4},"chat":{"id":5,"type":"private"},"caption":"new"}}`,
		`{"update_id":1,"message_reaction":{"chat":{"id":5},"message_id":2,"user":{"id":4},"new_reaction":[{"type":"emoji","emoji":"👍"},{}]}}`,
		`{"update_id":1,"message_reaction":{"chat":{"id":-5},"message_id":2,"actor_chat":{"id":-5},"new_reaction":[{"type":"custom_emoji","custom_emoji_id":"1"}]}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4},"chat":{"id":5},"photo":[],"new_chat_members":[{"id":1}],"left_chat_member":null}}`,
		`{"update_id":1,"message":{"message_id":0,"sender_chat":{"id":-5,"title":"A"},"chat":{"id":-5},"text":"😀 a b","entities":[{"type":"text_link","offset":3,"length":1,"url":"https://x.example"},{"type":"date_time","offset":5,"length":1,"unix_time":1}]}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4},"chat":{"id":5},"rich_message":{"blocks":[{"type":"paragraph","text":["a",{"type":"url","text":"b","url":"c"}]},{"type":"table","cells":[[{"text":"x"},{"text":"y"}]]},{"type":"photo","photo":[{"file_id":"p"}]}]}}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4},"chat":{"id":5},"external_reply":{"origin":{"type":"hidden_user","sender_user_name":"B"},"sticker":{"file_id":"s"}},"quote":{"text":"q","is_manual":true},"poll":{"question":"q","options":[{"text":"o"}]}}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4},"chat":{"id":5},"reply_to_story":{"chat":{"id":6}},"paid_media":{"paid_media":[{"type":"video","video":{"file_id":"v"}}]},"caption":"c","forward_origin":{"type":"channel","chat":{"id":-7,"title":"N"}}}}`,
		`{"update_id":1,"message":{"message_id":1,"from":{"id":1},"chat":{"id":1},".000":"a field that nobody knows"}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4},"chat":{"id":5},"pinned_message":{"message_id":1,"text":"pinned"},"video_chat_scheduled":{"start_date":1700000000}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(test *testing.T, raw []byte) {
		u, in, err := decode(raw, &user{ID: 99, Name: "our_bot"})
		if short := bare(raw, err == nil); short != nil {
			if _, _, err := decode(short, nil); err != nil {
				test.Errorf("%s has the head %s: %v", raw, short, err)
			}
		}
		if err != nil || in == nil {
			return
		}
		if in.ID == "" || !strings.HasPrefix(string(in.Chat), "tg:") || in.Kind != channel.KindMembership && in.Sender == "" {
			test.Errorf("%+v", in)
		}
		if in.From != media.Printable(in.From) || strings.Contains(in.From, "\n") || !utf8.ValidString(in.Text) {
			test.Errorf("from %q: %q", in.From, in.Text)
		}
		files, want := in.Files, 0
		if in.Quote != nil {
			files = slices.Concat(in.Files, in.Quote.Files)
		}
		if u.Message != nil {
			want = len(u.Message.files())
			if q := u.Message.answered(); q != nil {
				want += len(q.files())
			}
		}
		if in.Kind.IsMessage() && (in.Text == "" && len(in.Files) == 0 || len(files) != want) || in.Told != "" && !channel.ToldName(in.Told) {
			test.Errorf("%+v", in)
		}
		for _, a := range files {
			if strings.ContainsAny(a.Name, "/\x00\n") || a.Name == "" || a.Size < -1 {
				test.Errorf("a file %+v", a)
			}
		}
	})
}
