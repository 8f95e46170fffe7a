package decode

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mau.fi/whatsmeow/proto/waCommon"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/longshore-bridge/longshore/host/channel"
)

var update = flag.Bool("update", false, "write testdata/schema.txt")

// filled sets all fields of a message, so deep.
func filled(m protoreflect.Message, deep int) {
	switch w := m.Interface().(type) {
	case *waE2E.FutureProofMessage:
		w.Message = words("inside")
		return
	case *waE2E.Message:
		w.Conversation = proto.String("inside")
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		switch f := fields.Get(i); {
		case f.ContainingOneof() != nil && m.WhichOneof(f.ContainingOneof()) != nil:
		case f.IsMap():
		case f.Message() != nil && deep > 0 && f.IsList():
			filled(m.Mutable(f).List().AppendMutable().Message(), deep-1)
		case f.Message() != nil && deep > 0:
			filled(m.Mutable(f).Message(), deep-1)
		case f.IsList():
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(string(f.Name())))
		case f.Kind() == protoreflect.Int64Kind:
			m.Set(f, protoreflect.ValueOfInt64(60))
		}
	}
}

// outcome is what becomes of a message, on one line.
func outcome(d Content) string {
	if d.Ignored != "" {
		return "ignored: " + d.Ignored
	}
	words := []string{string(d.Kind)}
	if d.Kind == channel.KindMessage {
		words[0] = "message"
	}
	if d.Target != "" {
		words = append(words, "about a message")
	}
	if d.Emoji != "" {
		words = append(words, d.Emoji)
	}
	if d.Text != "" {
		words = append(words, strings.ReplaceAll(strings.TrimPrefix(d.Text, channel.NotShown("")), "\n", " | "))
	}
	if d.File != nil {
		words = append(words, "with a file")
	}
	if d.Told != "" {
		words = append(words, "(told)")
	}
	return strings.Join(words, ", ")
}

// TestNoFieldOfTheSchemaIsForgotten fails if a newer library knows a kind of message that
// nobody has thought of. Then decide in decode.go or kinds.go what becomes of it, and
// write the list anew with -update.
func TestNoFieldOfTheSchemaIsForgotten(t *testing.T) {
	var got strings.Builder
	decided := map[protoreflect.Name]bool{}
	for _, table := range []map[protoreflect.Name]string{described, notes, unreadable, ignored} {
		for name := range table {
			if decided[name] {
				t.Errorf("%s is in two tables", name)
			}
			decided[name] = true
		}
	}
	fields := (&waE2E.Message{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f, m := fields.Get(i), (&waE2E.Message{}).ProtoReflect()
		if f.Message() == nil {
			m.Set(f, protoreflect.ValueOfString("x"))
		} else {
			filled(m.Mutable(f).Message(), 4)
		}
		d := Message(m.Interface().(*waE2E.Message), Meta{Time: time.Unix(0, 0)})
		if d.Told != "" && !decided[f.Name()] {
			t.Errorf("nobody has decided what becomes of %s", f.Name())
		}
		if d.Ignored == "" && d.Kind.IsMessage() && d.Text == "" && d.File == nil {
			t.Errorf("%s is lost: %+v", f.Name(), d)
		}
		delete(decided, f.Name())
		fmt.Fprintf(&got, "%s: %s\n", f.Name(), outcome(d))
	}
	if len(decided) > 0 {
		t.Errorf("no fields of the schema: %v", decided)
	}
	types := waE2E.ProtocolMessage_REVOKE.Descriptor().Values()
	for i := range types.Len() {
		p := &waE2E.ProtocolMessage{
			Type: waE2E.ProtocolMessage_Type(types.Get(i).Number()).Enum(), Key: &waCommon.MessageKey{ID: proto.String("1")}, EditedMessage: words("better"),
			EphemeralExpiration: proto.Uint32(86400), MemberLabel: &waE2E.MemberLabel{Label: proto.String("captain")},
		}
		fmt.Fprintf(&got, "protocolMessage %s: %s\n", types.Get(i).Name(), outcome(Message(&waE2E.Message{ProtocolMessage: p}, Meta{})))
	}
	const list = "testdata/schema.txt"
	if *update {
		must(t, os.WriteFile(list, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(list)
	must(t, err)
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", list, diff)
	}
}
