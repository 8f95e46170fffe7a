package whatsapptest

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	waBinary "go.mau.fi/whatsmeow/binary"

	"github.com/longshore-bridge/longshore/host/channel/whatsapp/whatsapptest/wire"
)

// lastWords is how long a socket stays open after its last stanza: a client
// whose socket dies may drop what it has not handled yet, as on a busy machine.
const lastWords = time.Second

// session is one socket after its handshake. What is sent on it leaves in the
// order in which it was queued; one goroutine reads, one writes.
type session struct {
	srv    *Server
	frames *wire.Frames
	in     wire.Cipher
	ctx    context.Context
	cancel context.CancelFunc // cuts the socket

	reg    *registration // while a device pairs
	device *Device       // once it has logged in

	mu     sync.Mutex
	queue  []wire.Node
	ending bool          // nothing is queued any more
	wake   chan struct{} // the queue has grown
}

func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	defer s.wg.Done()
	if act := s.take(occasion{on: OnConnect}); act != nil && !act.perform(s.ctx, w) {
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	f := wire.NewFrames(ws)
	hello, in, out, err := wire.Respond(ctx, f, s.static, s.chain)
	if err != nil {
		s.log.Info("handshake ended", "error", err)
		return
	}
	sess := &session{srv: s, frames: f, in: in, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1)}
	s.mu.Lock()
	s.sessions[sess] = struct{}{}
	s.mu.Unlock()
	var writer sync.WaitGroup
	writer.Go(func() { sess.write(out) })
	sess.welcome(hello)
	sess.read()
	cancel()
	writer.Wait()
	s.forget(sess)
}

// forget takes a dead socket out of what the server knows.
func (s *Server) forget(sess *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, sess)
	if sess.device != nil && sess.device.session == sess {
		sess.device.session = nil
	}
	for ref, at := range s.refs {
		if at == sess {
			delete(s.refs, ref)
		}
	}
	for _, p := range s.people {
		if p.link != nil && p.link.session == sess {
			p.link = nil
		}
	}
	s.happened()
}

func (sess *session) read() {
	for {
		sealed, err := sess.frames.Read(sess.ctx)
		if err != nil {
			return
		}
		plain, err := sess.in.Open(sealed, nil)
		if err != nil || len(plain) == 0 {
			sess.srv.log.Warn("frame does not decrypt", "error", err)
			return
		}
		unpacked, err := waBinary.Unpack(plain)
		if err != nil {
			sess.srv.log.Warn("frame does not unpack", "error", err)
			return
		}
		n, err := waBinary.Unmarshal(unpacked)
		if err != nil {
			sess.srv.log.Warn("frame holds no stanza", "error", err)
			return
		}
		sess.srv.log.Debug("stanza", "tag", n.Tag, "id", wire.Text(n, "id"), "to", wire.Text(n, "to"))
		sess.handle(n)
	}
}

// write sends what is queued until the socket ends, and after a last stanza
// leaves the client its time to handle it.
func (sess *session) write(out wire.Cipher) {
	defer sess.cancel()
	for {
		sess.mu.Lock()
		queue, ending := sess.queue, sess.ending
		sess.queue = nil
		sess.mu.Unlock()
		for _, n := range queue {
			plain, err := waBinary.Marshal(n)
			if err != nil {
				sess.srv.log.Error("stanza does not encode", "tag", n.Tag, "error", err)
				return
			}
			if sess.frames.Write(sess.ctx, out.Seal(plain, nil)) != nil {
				return
			}
		}
		if ending {
			select {
			case <-time.After(lastWords):
			case <-sess.ctx.Done():
			}
			return
		}
		select {
		case <-sess.wake:
		case <-sess.ctx.Done():
			return
		}
	}
}

// send queues stanzas; it never blocks, so it may be called under the server's lock.
func (sess *session) send(stanzas ...wire.Node) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.ending || len(stanzas) == 0 {
		return
	}
	sess.queue = append(sess.queue, stanzas...)
	sess.nudge()
}

// end queues a last stanza, after which the socket closes.
func (sess *session) end(last wire.Node) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.ending {
		return
	}
	sess.queue = append(sess.queue, last)
	sess.ending = true
	sess.nudge()
}

func (sess *session) nudge() {
	select {
	case sess.wake <- struct{}{}:
	default:
	}
}

// handle serves one stanza, unless a fault says otherwise.
func (sess *session) handle(n *wire.Node) {
	copies := 1
	act := sess.srv.take(sess.occasion(n))
	if act != nil {
		switch act.fault.Do {
		case Swallow:
			return
		case Refuse:
			sess.send(refusal(n, act.fault.Code))
			return
		case Cut:
			sess.cancel()
			return
		case StreamError:
			sess.end(streamError(act.fault.Code))
			return
		case Repeat:
			copies = 2
		case Hold:
			if !act.wait(sess.ctx) {
				return
			}
		}
	}
	answers := sess.answer(n, copies)
	if act != nil && act.fault.Do == LoseAck {
		return
	}
	if act != nil && act.fault.Do == CutAfter {
		sess.cancel()
		return
	}
	sess.send(answers...)
}

// answer does what a stanza asks and returns what its sender hears.
func (sess *session) answer(n *wire.Node, copies int) []wire.Node {
	if n.Tag == "iq" {
		return sess.answerIQ(n)
	}
	if sess.device == nil {
		return nil
	}
	switch n.Tag {
	case "message":
		return []wire.Node{sess.relay(n, copies)}
	case "receipt":
		return []wire.Node{sess.receipt(n, copies)}
	case "ack":
		sess.srv.mu.Lock()
		defer sess.srv.mu.Unlock()
		sess.device.received(wire.Text(n, "class"), n)
	case "chatstate":
		sess.typing(n)
	}
	return nil
}
