package librarylog

import (
	"log/slog"
	"sync"

	"go.mau.fi/libsignal/logger"
)

// signalLog takes libsignal's log lines, which otherwise go to stdout, between
// the lines of a command's output. A message that was seen before, or cannot be
// decrypted yet, is normal there: whatsmeow handles both.
type signalLog struct{ log *slog.Logger }

// libsignal has one logger for the process, read without a lock, so it is set
// once, by the first channel.
var signalOnce sync.Once

// TakeSignal makes libsignal log to log, unless it was called before.
func TakeSignal(log *slog.Logger) {
	signalOnce.Do(func() {
		var l logger.Loggable = signalLog{log}
		logger.Setup(&l)
	})
}

func (l signalLog) Debug(string, string) {}
func (l signalLog) Info(string, string)  {}
func (l signalLog) Configure(string)     {}

func (l signalLog) Warning(caller, message string) {
	l.log.Debug("signal", "from", caller, "says", Harmless(message))
}

func (l signalLog) Error(caller, message string) {
	l.log.Debug("signal", "from", caller, "says", Harmless(message))
}
