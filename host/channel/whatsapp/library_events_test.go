package whatsapp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
