package whatsapp

import (
	"time"

	"go.mau.fi/whatsmeow"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
)

// Client is the library's client of the session that runs.
func (w *WhatsApp) Client() *whatsmeow.Client { return w.live.Load().client }

// Hurry shortens how long the library's lock is kept for an acknowledgement,
// and for a message in all.
func (w *WhatsApp) Hurry(ackWait, most time.Duration) {
	w.sendSlot.ackWait, w.sendSlot.most = ackWait, most
}

// Reconnect shortens the pauses before a connection, and before a look whether the
// channel was paired.
func (w *WhatsApp) Reconnect(pause time.Duration) { w.link.Pause, w.probe = pause, pause }

// Watch shortens how often the connection is looked at.
func (w *WhatsApp) Watch(every time.Duration) { w.watch = every }

// Unread shortens how long a message that could not be read is waited for.
func (w *WhatsApp) Unread(after time.Duration) { w.unread = after }

// Window shortens the time over which the speed of a download's first attempt is
// measured.
func (w *WhatsApp) Window(window time.Duration) {
	w.brisk.Window = window
}

// Missing is how many acknowledgements are waited for without the lock.
func (w *WhatsApp) Missing() int64 { return w.sendSlot.missing.Load() }

// MessageID is the id that a message has on WhatsApp.
var MessageID = compose.MessageID
