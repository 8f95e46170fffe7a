package whatsapp

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
func outcome(d said) string {
	if d.ignored != "" {
		return "ignored: " + d.ignored
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
	if d.file != nil {
		words = append(words, "with a file")
	}
	if d.Told != "" {
		words = append(words, "(told)")
	}
	return strings.Join(words, ", ")
}

// TestNoFieldOfTheSchemaIsForgotten fails if a newer library knows a kind of message that
// nobody has thought of. Then decide in decode.go or told.go what becomes of it, and
// write the list anew with -update.
func TestNoFieldOfTheSchemaIsForgotten(t *testing.T) {
	var got strings.Builder
	decided := map[protoreflect.Name]bool{}
	for _, table := range []map[protoreflect.Name]string{told, notes, sealed, ignored} {
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
		d := decode(m.Interface().(*waE2E.Message), inboundInfo{Time: time.Unix(0, 0)})
		if d.Told != "" && !decided[f.Name()] {
			t.Errorf("nobody has decided what becomes of %s", f.Name())
		}
		if d.ignored == "" && d.Kind.IsMessage() && d.Text == "" && d.file == nil {
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
		fmt.Fprintf(&got, "protocolMessage %s: %s\n", types.Get(i).Name(), outcome(decode(&waE2E.Message{ProtocolMessage: p}, inboundInfo{})))
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

// ignoredEvents are the library's types of events that the channel does not handle, and why.
var ignoredEvents = map[string]string{
	"AppState":                    "the account's own settings, which the phone has",
	"AppStateSyncComplete":        "the account's own settings, which the phone has",
	"Archive":                     "the account's own list of chats",
	"Blocklist":                   "the account's own list",
	"BlocklistChange":             "a part of Blocklist",
	"BusinessName":                "names are looked up when they are needed",
	"CATRefreshError":             "of Messenger",
	"CallAccept":                  "of a call that its offer has told",
	"CallPreAccept":               "of a call that its offer has told",
	"CallReject":                  "of a call that its offer has told",
	"CallRelayLatency":            "of a call that its offer has told",
	"CallTerminate":               "of a call that its offer has told",
	"CallTransport":               "of a call that its offer has told",
	"ChatPresence":                "that somebody writes is no message",
	"ClearChat":                   "the account's own view of a chat",
	"Contact":                     "names are looked up when they are needed",
	"DeleteChat":                  "the account's own view of a chat",
	"DeleteForMe":                 "the account's own view of a chat",
	"HistorySync":                 "history is never fetched (ManualHistorySyncDownload)",
	"IdentityChange":              "a member's new phone, whose keys the library asks for",
	"KeepAliveRestored":           "the connection has come back by itself",
	"LabelAssociationChat":        "the account's own labels",
	"LabelAssociationMessage":     "the account's own labels",
	"LabelEdit":                   "the account's own labels",
	"ManualLoginReconnect":        "never sent: DisableLoginAutoReconnect is off",
	"MarkChatAsRead":              "the account's own view of a chat",
	"MediaRetryError":             "a part of MediaRetry",
	"Mute":                        "the account's own view of a chat",
	"NewsletterJoin":              "channels are no chats of members",
	"NewsletterLeave":             "channels are no chats of members",
	"NewsletterLiveUpdate":        "channels are no chats of members",
	"NewsletterMessageMeta":       "a part of Message",
	"NewsletterMuteChange":        "channels are no chats of members",
	"OfflineSyncCompleted":        "counts what comes by itself",
	"OfflineSyncPreview":          "counts what comes by itself",
	"Picture":                     "no message; nobody has to know",
	"Pin":                         "the account's own list of chats",
	"PairError":                   "pairing has the library's own channel (GetQRChannel)",
	"PairSuccess":                 "pairing has the library's own channel (GetQRChannel)",
	"QR":                          "pairing has the library's own channel (GetQRChannel)",
	"QRScannedWithoutMultidevice": "pairing has the library's own channel (GetQRChannel)",
	"Presence":                    "that somebody is there is no message",
	"PrivacySettings":             "the account's own settings",
	"PushName":                    "names are looked up when they are needed",
	"PushNameSetting":             "the account's own settings",
	"Star":                        "the account's own view of a chat",
	"UnarchiveChatsSetting":       "the account's own settings",
	"UnknownCallEvent":            "no offer of a call",
	"UserAbout":                   "no message; nobody has to know",
	"UserStatusMute":              "the account's own settings",
}

// TestNoEventOfTheLibraryIsForgotten: UndecryptableMessage had no case, so that a message
// that could not be read was silence.
func TestNoEventOfTheLibraryIsForgotten(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "go.mau.fi/whatsmeow/types/events").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, file := range parsed(t, strings.TrimSpace(string(dir))) {
		for _, d := range file.Decls {
			types, ok := d.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				if s := spec.(*ast.TypeSpec); s.Name.IsExported() {
					if _, ok := s.Type.(*ast.StructType); ok {
						known[s.Name.Name] = true
					}
				}
			}
		}
	}
	handled := map[string]bool{}
	for _, file := range parsed(t, ".") {
		ast.Inspect(file, func(n ast.Node) bool {
			c, ok := n.(*ast.CaseClause)
			for i := 0; ok && i < len(c.List); i++ {
				if p, ok := c.List[i].(*ast.StarExpr); ok {
					if s, ok := p.X.(*ast.SelectorExpr); ok && s.X.(*ast.Ident).Name == "events" {
						handled[s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if handled[name] == (ignoredEvents[name] != "") {
			t.Errorf("%s is handled: %t, and ignored because %q", name, handled[name], ignoredEvents[name])
		}
	}
	for name := range ignoredEvents {
		if !known[name] {
			t.Errorf("the library has no event %s", name)
		}
	}
	if len(known) < 60 {
		t.Errorf("the library has %d events", len(known))
	}
}

// parsed are the files of a package, without its tests.
func parsed(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			must(t, err)
			files = append(files, f)
		}
	}
	return files
}
