package telegram

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/media"
)

// FuzzUpdates: whatever Telegram or its members claim, what the host hears has an id and a
// chat of this platform, names of one printable line, and files with names that are safe.
func FuzzUpdates(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":2,"date":3,"from":{"id":4,"first_name":"Ann"},"chat":{"id":-100,"type":"supergroup"},"text":"@our_bot hi","message_thread_id":9,"is_topic_message":true}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4,"first_name":"\u001b[31m\n"},"chat":{"id":5,"type":"private"},"document":{"file_id":"x","file_name":"../../etc/passwd","file_size":-1},"reply_to_message":{"message_id":1,"from":{"id":7}}}}`,
		`{"update_id":1,"edited_message":{"message_id":2,"edit_date":9,"from":{"id":4},"chat":{"id":5,"type":"private"},"caption":"new"}}`,
		`{"update_id":1,"message_reaction":{"chat":{"id":5},"message_id":2,"user":{"id":4},"new_reaction":[{"type":"emoji","emoji":"👍"},{}]}}`,
		`{"update_id":1,"message":{"message_id":2,"from":{"id":4},"chat":{"id":5},"photo":[],"new_chat_members":[{"id":1}],"left_chat_member":null}}`,
	} {
		f.Add([]byte(seed))
	}
	t := &Telegram{}
	t.self.Store(&user{ID: 99, Name: "our_bot"})
	f.Fuzz(func(test *testing.T, raw []byte) {
		var u update
		if json.Unmarshal(raw, &u) != nil {
			return
		}
		in := t.inbound(&u)
		if in == nil {
			return
		}
		if in.ID == "" || in.Sender == "" || !strings.HasPrefix(string(in.Chat), "tg:") {
			test.Errorf("%+v", in)
		}
		if in.From != media.Printable(in.From) || strings.Contains(in.From, "\n") || !utf8.ValidString(in.Text) {
			test.Errorf("from %q: %q", in.From, in.Text)
		}
		for _, a := range in.Files {
			if strings.ContainsAny(a.Name, "/\x00\n") || a.Name == "" || a.Size < -1 {
				test.Errorf("a file %+v", a)
			}
		}
	})
}
