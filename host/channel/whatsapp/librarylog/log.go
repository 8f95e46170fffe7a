// Package librarylog passes the logs of WhatsApp's libraries on, without secrets.
package librarylog

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

// waLogger passes the library's log on, except for its debug messages: those are
// the stanzas themselves.
type waLogger struct {
	log     *slog.Logger
	module  string
	stanzas Observer
}

// Observer gets each stanza that the library sends.
type Observer interface{ Sent(stanza string) }

// New returns the library's logger. observer may be nil.
func New(log *slog.Logger, observer Observer) waLog.Logger {
	return waLogger{log: log, stanzas: observer}
}

// Debugf logs nothing. It calls the observer with each stanza that is sent.
func (l waLogger) Debugf(_ string, args ...any) {
	if l.stanzas == nil || l.module != "Send" || len(args) != 1 {
		return
	}
	if stanza, ok := args[0].(string); ok {
		l.stanzas.Sent(stanza)
	}
}

func (l waLogger) Infof(msg string, args ...any)  { l.write(slog.LevelDebug, msg, args) }
func (l waLogger) Warnf(msg string, args ...any)  { l.write(slog.LevelInfo, msg, args) }
func (l waLogger) Errorf(msg string, args ...any) { l.write(slog.LevelWarn, msg, args) }

func (l waLogger) Sub(module string) waLog.Logger {
	if l.module != "" {
		module = l.module + "/" + module
	}
	return waLogger{log: l.log, module: module, stanzas: l.stanzas}
}

func (l waLogger) write(level slog.Level, msg string, args []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "whatsmeow", "module", l.module, "text", Harmless(fmt.Sprintf(msg, args...)))
	}
}

// Harmless returns foreign text without secrets, stanzas and control characters.
func Harmless(s string) string {
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
