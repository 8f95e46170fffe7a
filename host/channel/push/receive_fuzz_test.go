package push

import (
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/media"
)

// FuzzReply looks for a body that is taken, and brings the host more than a reply
// may hold.
func FuzzReply(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message","chat":"push:desk","id":"m-1","from":"Ada","sender":"u-1","text":"hi","quote":{"id":"q","from":"Bo","text":"?"},"files":[{"url":"https://x/a","name":"../a","mime":"a/b","size":1}]}`,
		`{"type":"read","chat":"push:desk","id":"R1"}`, `{"type":"message","chat":"push:desk","id":"m","id":"n"}`, `{"type":"message","chat":"push:desk","ID":"m"}`,
		`{"type":"message","chat":"push:desk","id":"m","files":[{"url":"a b"}]}`, `[]`, `null`, "{\"type\":\"\xff\"}", `{"files":[{"size":-1}]}`, ``,
	} {
		f.Add([]byte(seed))
	}
	p := &Push{}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := p.parse(body)
		if err != nil {
			return
		}
		in := r.inbound(journal.Inbound{Seq: 1, ID: "msg", Received: time.Now()})
		if _, err := groups.ParseJID(string(in.Chat)); err != nil || !p.Owns(in.Chat) || in.ID == "" || len(in.ID) > maxID || len(in.Files) > maxFiles {
			t.Errorf("%q was taken as %+v", body, in)
		}
		for _, a := range in.Files {
			if a.Name != media.SafeName(a.Name) || a.Size < 0 {
				t.Errorf("%q brings the file %+v", body, a)
			}
		}
	})
}
