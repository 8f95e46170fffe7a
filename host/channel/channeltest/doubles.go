package channeltest

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Host is the host of a channel in a test; its nil fields stand for a channel.NoHost.
type Host struct {
	OnUnknown func(channel.UnknownChat)
	OnRoom    func() error
	OnReserve func(bytes int64) (release func(), err error)
	channel.NoHost
}

// ReportUnknown implements channel.Host.
func (h Host) ReportUnknown(c channel.UnknownChat) {
	if h.OnUnknown != nil {
		h.OnUnknown(c)
	}
}

// Reserve implements channel.Host.
func (h Host) Reserve(bytes int64) (release func(), err error) {
	if h.OnReserve != nil {
		return h.OnReserve(bytes)
	}
	return func() {}, nil
}

// Room implements channel.Host.
func (h Host) Room() error {
	if h.OnRoom != nil {
		return h.OnRoom()
	}
	return nil
}

// Opens is the Content of a file whose readers a test makes.
type Opens func() (io.ReadSeekCloser, error)

// Open implements channel.Content.
func (o Opens) Open() (io.ReadSeekCloser, error) { return o() }

// Progress is the Attempt of a test that watches how many bytes are sent, and keeps nothing.
type Progress func(sent int64)

// Progress implements channel.Attempt.
func (p Progress) Progress(sent int64) { p(sent) }

// Save implements channel.Attempt.
func (Progress) Save(context.Context, []byte) error { return nil }

// Screen is the channel.Screen of a test.
type Screen struct{ io.Writer }

// Say implements channel.Screen.
func (s Screen) Say(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

// ShowCode implements channel.Screen.
func (s Screen) ShowCode(code string) { s.Say("code %s", code) }

// ShowQR implements channel.Screen.
func (s Screen) ShowQR(code string, _ time.Duration) { s.Say("QR code %s", code) }
