package whatsapptest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"go.mau.fi/whatsmeow/types"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// On is where a fault strikes.
type On string

// The occasions, and what Fault.Kind and Fault.Chat mean there.
const (
	OnConnect  On = "connect"  // a websocket is opened
	OnLogin    On = "login"    // a device says who it is, or that it wants to be paired
	OnMessage  On = "message"  // Kind is text, media, …; Chat is the chat
	OnReceipt  On = "receipt"  // Kind is read, retry, inactive, …; Chat is the chat
	OnIQ       On = "iq"       // Kind is the namespace: w:m, usync, w:g2, encrypt, …
	OnAck      On = "ack"      // a client confirms a notification or receipt, which Kind says; it confirms a message by a receipt
	OnUpload   On = "upload"   // Kind is image, video, audio, document
	OnDownload On = "download" // Kind is as above where the client says it
)

// Action is what a fault does.
type Action string

// The actions. Each says where it applies; elsewhere it does nothing.
const (
	Swallow     Action = "swallow"      // stanzas: not handled, not answered
	LoseAck     Action = "lose-ack"     // stanzas and uploads: handled, but the answer is lost
	Refuse      Action = "refuse"       // all but acks: answered with Code (an iq error, an ack's error, a failure's reason, an HTTP status), not handled
	Repeat      Action = "repeat"       // messages and receipts: handed on twice
	Cut         Action = "cut"          // all: the connection dies, before the stanza is handled or after Bytes of a body
	CutAfter    Action = "cut-after"    // stanzas and uploads: handled, and the connection dies instead of the answer
	StreamError Action = "stream-error" // stanzas: not handled, the stream ends with Code
	Hold        Action = "hold"         // all: waits until Release, for bodies after Bytes; an uploading socket reads nothing meanwhile
	Slow        Action = "slow"         // bodies: Rate bytes a second
	Corrupt     Action = "corrupt"      // downloads: the first byte is another
)

// Forever makes a fault strike every time.
const Forever = -1

// Fault is something that goes wrong. Empty conditions hold always.
type Fault struct {
	On    On
	Do    Action
	Phone string    // number of the account whose client it is; not for transfers
	Chat  types.JID // messages and receipts
	Kind  string
	Skip  int // let so many pass first
	Times int // how often; 0 is once

	Code       int
	RetryAfter time.Duration // Refuse, uploads: the header
	BanCode    int           // Refuse with 402 on login: why, and for how long
	Expire     time.Duration
	Bytes      int64
	Rate       int64
}

// Script is a fault that was set up.
type Script struct {
	srv     *Server
	fault   Fault
	hits    int
	left    int
	skip    int
	hit     chan struct{}
	release chan struct{}
}

// Fail sets up a fault. Where several match, the one set up first strikes.
func (s *Server) Fail(f Fault) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	script := &Script{srv: s, fault: f, left: f.Times, skip: f.Skip, hit: make(chan struct{}), release: make(chan struct{})}
	if f.Times == 0 {
		script.left = 1
	}
	s.scripts = append(s.scripts, script)
	return script
}

// Hit is closed when the fault has struck for the first time.
func (a *Script) Hit() <-chan struct{} { return a.hit }

// Hits is how often it has struck.
func (a *Script) Hits() int {
	a.srv.mu.Lock()
	defer a.srv.mu.Unlock()
	return a.hits
}

// Release lets go what Hold holds, and keeps the fault from striking again.
// Without Hold it only does the latter.
func (a *Script) Release() {
	a.srv.mu.Lock()
	defer a.srv.mu.Unlock()
	a.left = 0
	select {
	case <-a.release:
	default:
		close(a.release)
	}
}

// wait holds until Release; false if ctx ended first.
func (a *Script) wait(ctx context.Context) bool {
	select {
	case <-a.release:
		return true
	case <-ctx.Done():
		return false
	}
}

// occasion is a moment at which a fault may strike.
type occasion struct {
	on    On
	phone string
	chat  types.JID
	kind  string
}

func (sess *session) occasion(n *wire.Node) occasion {
	o := occasion{on: On(n.Tag), kind: wire.Text(n, "type"), chat: wire.Address(n, "to").ToNonAD()}
	if sess.device != nil {
		o.phone = sess.device.owner.number
	}
	switch o.on {
	case OnIQ:
		o.kind = wire.Text(n, "xmlns")
		if o.kind == "" {
			o.on = "" // an answer, not a question
		}
	case OnAck:
		o.kind = wire.Text(n, "class")
	}
	return o
}

// take returns the fault that strikes now, nil where all is well.
func (s *Server) take(o occasion) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.scripts {
		f := a.fault
		if a.left == 0 || f.On != o.on ||
			f.Phone != "" && f.Phone != o.phone ||
			f.Kind != "" && f.Kind != o.kind ||
			!f.Chat.IsEmpty() && f.Chat != o.chat {
			continue
		}
		if a.skip > 0 {
			a.skip--
			continue
		}
		if a.left > 0 {
			a.left--
		}
		a.hits++
		if a.hits == 1 {
			close(a.hit)
		}
		s.happened()
		return a
	}
	return nil
}

// perform strikes where a websocket is opened; false where none is to follow.
func (a *Script) perform(ctx context.Context, w http.ResponseWriter) bool {
	switch a.fault.Do {
	case Refuse:
		http.Error(w, http.StatusText(a.fault.Code), a.fault.Code)
		return false
	case Cut, Swallow:
		panic(http.ErrAbortHandler)
	case Hold:
		return a.wait(ctx)
	}
	return true
}

// faultyBody is a body in transfer, to which a fault may happen.
type faultyBody struct {
	from io.Reader
	act  *Script
	ctx  context.Context
	read int64
	cut  bool
}

var errCut = errors.New("cut by a fault")

func (b *faultyBody) Read(p []byte) (int, error) {
	if b.act == nil {
		return b.from.Read(p)
	}
	f := b.act.fault
	switch f.Do {
	case Cut, Hold:
		if left := f.Bytes - b.read; left > 0 {
			p = p[:min(int64(len(p)), left)]
		} else if f.Do == Cut {
			b.cut = true
			return 0, errCut
		} else if !b.act.wait(b.ctx) {
			return 0, b.ctx.Err()
		}
	case Slow:
		p = p[:min(int64(len(p)), max(1, f.Rate/20))]
	}
	n, err := b.from.Read(p)
	if f.Do == Corrupt && b.read == 0 && n > 0 {
		p[0] ^= 0xff
	}
	b.read += int64(n)
	if f.Do == Slow && n > 0 {
		select {
		case <-time.After(time.Duration(n) * time.Second / time.Duration(max(1, f.Rate))):
		case <-b.ctx.Done():
			return n, b.ctx.Err()
		}
	}
	return n, err
}
