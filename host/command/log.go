package command

import (
	"io"
	"log/slog"

	"github.com/lmittmann/tint"

	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

// newLog returns a log to w. Without a format in longshore.yaml, it writes text to a terminal and JSON
// to anything else.
func newLog(w io.Writer, o config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		level = slog.LevelInfo
	}
	if text := o.Format == "text" || (o.Format != "json" && terminal.IsTerminal(w)); !text {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: printableAttr}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level: level, TimeFormat: "15:04:05.000", NoColor: !terminal.IsTerminal(w), ReplaceAttr: printableAttr,
	}))
}

// printableAttr makes foreign text in log fields printable, so that it cannot move a cursor or turn
// the direction of writing.
func printableAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(media.Printable(v))
	case error:
		a.Value = slog.StringValue(media.Printable(v.Error()))
	}
	return a
}
