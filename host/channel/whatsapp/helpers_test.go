package whatsapp

import (
	"testing"

	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func words(s string) *waE2E.Message { return &waE2E.Message{Conversation: proto.String(s)} }

// newer adds a field that the library does not know.
func newer[M proto.Message](m M) M {
	m.ProtoReflect().SetUnknown(protoreflect.RawFields(protowire.AppendVarint(protowire.AppendTag(nil, 500, protowire.VarintType), 1)))
	return m
}
