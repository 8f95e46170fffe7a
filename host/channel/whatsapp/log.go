package whatsapp

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"unicode/utf8"

	waLog "go.mau.fi/whatsmeow/util/log"

	"github.com/longshore-bridge/longshore/media"
)

// maxLogged is the longest text of the library that reaches the log, in bytes.
const maxLogged = 400

// The library's log lines may hold whole stanzas, and in them tokens, keys and
// pairing codes. The first two patterns remove those; the third shortens people's
// numbers.
var (
	stanza = regexp.MustCompile(`(?s)<[a-zA-Z/].*>`)
	secret = regexp.MustCompile(`[0-9a-zA-Z+/=_,@-]{40,}`)
	number = regexp.MustCompile(`\b([0-9]{3})[0-9]{3,}([0-9]{2})([.:@])`)
)

// libraryLog passes the library's log on, except for its debug messages: those are
// the stanzas themselves.
type libraryLog struct {
	log    *slog.Logger
	module string
	sent   func(stanza string) // gets each stanza that the library sends; may be nil
}

var _ waLog.Logger = libraryLog{}

// Debugf logs nothing. It calls sent, if set, with each stanza that is sent.
func (l libraryLog) Debugf(_ string, args ...any) {
	if l.sent == nil || l.module != "Send" || len(args) != 1 {
		return
	}
	if stanza, ok := args[0].(string); ok {
		l.sent(stanza)
	}
}

func (l libraryLog) Infof(msg string, args ...any)  { l.write(slog.LevelDebug, msg, args) }
func (l libraryLog) Warnf(msg string, args ...any)  { l.write(slog.LevelInfo, msg, args) }
func (l libraryLog) Errorf(msg string, args ...any) { l.write(slog.LevelWarn, msg, args) }

func (l libraryLog) Sub(module string) waLog.Logger {
	if l.module != "" {
		module = l.module + "/" + module
	}
	return libraryLog{log: l.log, module: module, sent: l.sent}
}

func (l libraryLog) write(level slog.Level, msg string, args []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "whatsmeow", "module", l.module, "text", harmless(fmt.Sprintf(msg, args...)))
	}
}

// harmless returns foreign text without secrets, stanzas and control characters.
func harmless(s string) string {
	s = stanza.ReplaceAllString(s, "<…>")
	s = secret.ReplaceAllString(s, "…")
	s = number.ReplaceAllString(s, "$1…$2$3")
	s = media.Printable(s)
	if len(s) > maxLogged {
		s = s[:maxLogged]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return s
}
