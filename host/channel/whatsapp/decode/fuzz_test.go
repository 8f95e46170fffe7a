package decode

import (
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
)

// What a member may send is any message at all.
func FuzzMessage(f *testing.F) {
	doc := &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
		FileName: proto.String("../a\x00.pdf"), Mimetype: proto.String("Application/PDF; x=y"), FileLength: proto.Uint64(1 << 63),
		ContextInfo: &waE2E.ContextInfo{QuotedMessage: words("before")},
	}}}}
	seeds := []*waE2E.Message{words("hello"), doc, {LocationMessage: &waE2E.LocationMessage{Name: proto.String("pier")}}, {ImageMessage: &waE2E.ImageMessage{}}}
	fields := (&waE2E.Message{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		m := &waE2E.Message{}
		if f := fields.Get(i); f.Message() != nil {
			filled(m.ProtoReflect().Mutable(f).Message(), 3)
		}
		seeds = append(seeds, newer(m))
	}
	for _, m := range seeds {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &waE2E.Message{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		d := Message(m, Meta{Time: time.Unix(0, 0)})
		if d.Ignored == "" && d.Kind.IsMessage() && d.Text == "" && len(d.Files) == 0 {
			t.Errorf("an empty message: %+v", d)
		}
		if len(d.Told) > 64 || strings.Trim(d.Told, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") != "" {
			t.Errorf("told of %q", d.Told)
		}
		if q := Quotable(m); ContextOf(q) != nil || q.MessageContextInfo != nil || q.SenderKeyDistributionMessage != nil {
			t.Error("what is quoted has more than its content")
		}
		for _, f := range d.Files {
			if d.File == nil || f.Size < 0 || f.Name == "" || f.MIME == "" || f.Kind == "" {
				t.Errorf("a file is %+v", f.Info)
			}
		}
	})
}
