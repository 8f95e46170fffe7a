package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/coder/websocket"
	"go.mau.fi/whatsmeow/socket"
)

// Frames cuts the byte stream of a websocket into frames. The client begins
// with four bytes, 'W' 'A' and two versions; each frame then is a length of
// three bytes, big endian, and the payload. The edges of websocket messages
// mean nothing, but each frame is written whole into one message.
type Frames struct {
	ws     *websocket.Conn
	buf    []byte
	opened bool
}

func NewFrames(ws *websocket.Conn) *Frames {
	ws.SetReadLimit(socket.FrameMaxSize + 16)
	return &Frames{ws: ws}
}

// Read returns the next payload, a slice of its own.
func (f *Frames) Read(ctx context.Context) ([]byte, error) {
	if !f.opened {
		header := socket.WAConnHeader
		if err := f.fill(ctx, len(header)); err != nil {
			return nil, err
		}
		if !bytes.Equal(f.buf[:len(header)], header) {
			return nil, fmt.Errorf("stream begins with %q, want %q", f.buf[:len(header)], header)
		}
		f.buf, f.opened = f.buf[len(header):], true
	}
	if err := f.fill(ctx, socket.FrameLengthSize); err != nil {
		return nil, err
	}
	size := int(f.buf[0])<<16 | int(f.buf[1])<<8 | int(f.buf[2])
	f.buf = f.buf[socket.FrameLengthSize:]
	if err := f.fill(ctx, size); err != nil {
		return nil, err
	}
	payload := bytes.Clone(f.buf[:size])
	f.buf = f.buf[size:]
	return payload, nil
}

func (f *Frames) fill(ctx context.Context, size int) error {
	for len(f.buf) < size {
		kind, data, err := f.ws.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			return errors.New("text message on a binary stream")
		}
		f.buf = append(f.buf, data...)
	}
	return nil
}

func (f *Frames) Write(ctx context.Context, payload []byte) error {
	if len(payload) >= socket.FrameMaxSize {
		return fmt.Errorf("frame of %d bytes is too large", len(payload))
	}
	frame := make([]byte, 0, socket.FrameLengthSize+len(payload))
	frame = append(frame, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)))
	return f.ws.Write(ctx, websocket.MessageBinary, append(frame, payload...))
}
