package ssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/longshore-bridge/longshore/agentrunner/sshside"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/feed"
)

// stream is one direction of a connection in memory. It takes everything, since both ends of
// ssh write before they read.
type stream struct {
	mu     sync.Mutex
	change *sync.Cond
	b      bytes.Buffer
	ended  bool
}

func newStream() *stream {
	s := &stream{}
	s.change = sync.NewCond(&s.mu)
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.b.Len() == 0 && !s.ended {
		s.change.Wait()
	}
	return s.b.Read(p)
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, io.ErrClosedPipe
	}
	defer s.change.Broadcast()
	return s.b.Write(p)
}

func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.change.Broadcast()
	return nil
}

// wire is one end of a connection in memory.
type wire struct {
	net.Conn // nil: package ssh sets no deadlines
	in, out  *stream
}

func (w wire) Read(p []byte) (int, error)  { return w.in.Read(p) }
func (w wire) Write(p []byte) (int, error) { return w.out.Write(p) }
func (w wire) Close() error                { return errors.Join(w.in.Close(), w.out.Close()) }
func (w wire) LocalAddr() net.Addr         { return &net.TCPAddr{} }
func (w wire) RemoteAddr() net.Addr        { return &net.TCPAddr{} }

// The machines of these tests answer every keepalive. noChannel and noProgram confirm nothing
// further, and noReader starts a program that reads nothing.
const (
	noChannel  = "no channel"
	noProgram  = "no program"
	noReader   = "no reader"
	slowReader = "slow reader"
)

// slowPiece is what the slow reader reads at a time, every slowPause.
const (
	slowPiece = 48 << 10
	slowPause = startWait - 10*time.Second
)

// serveBadly is the machine's end of a connection.
func serveBadly(conn net.Conn, key ssh.Signer, manner string) {
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(key)
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		if manner == noChannel {
			continue
		}
		ch, requests, err := c.Accept()
		if err != nil {
			return
		}
		go runBadly(ch, requests, manner)
	}
}

func runBadly(ch ssh.Channel, requests <-chan *ssh.Request, manner string) {
	for r := range requests {
		if manner == noProgram {
			continue
		}
		_ = r.Reply(true, nil)
		if manner == slowReader {
			go readSlowly(ch)
		}
	}
}

func readSlowly(from io.Reader) {
	for {
		if _, err := io.ReadFull(from, make([]byte, slowPiece)); err != nil {
			return
		}
		time.Sleep(slowPause)
	}
}

// sessionAt is a session of which nothing has begun, on a machine in memory. Its document is
// larger than ssh takes for a program that does not read, and its connection ends after a day.
func sessionAt(t *testing.T, manner string) *session {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	there, back := newStream(), newStream()
	go serveBadly(wire{in: there, out: back}, key, manner)
	conn, channels, requests, err := ssh.NewClientConn(wire{in: back, out: there}, "", &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(key.PublicKey())})
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{client: ssh.NewClient(conn, channels, requests), ended: make(chan struct{})}
	go c.watch(keepalive)
	t.Cleanup(c.Close)
	day := time.AfterFunc(24*time.Hour, func() { c.client.Close() })
	t.Cleanup(func() { day.Stop() })
	document := `{"prompt":"` + strings.Repeat("x", 3<<20) + `"}`
	return &session{conn: c, feeder: &feed.Feeder{Spec: runtime.Spec{Input: []byte(document)}, Log: slog.New(slog.DiscardHandler)}}
}

// TestAStopEndedNoStart: a start that the machine held up saw neither /stop nor the end of the
// host, which then waited for it without end.
func TestAStopEndedNoStart(t *testing.T) {
	for _, manner := range []string{noChannel, noProgram, noReader} {
		synctest.Test(t, func(t *testing.T) {
			s := sessionAt(t, manner)
			ctx, stop := context.WithTimeoutCause(t.Context(), time.Second, errors.New("stopped"))
			defer stop()
			begun := time.Now()
			err := s.begin(ctx, "far", sshside.Begin{})
			if took := time.Since(begun); took != time.Second || !errors.Is(err, context.Cause(ctx)) {
				t.Errorf("%s: the start ended after %s: %v", manner, took, err)
			}
		})
	}
}

// TestAStartWithoutProgressNeverEnded: the machine answers keepalives, so that the connection
// is not lost.
func TestAStartWithoutProgressNeverEnded(t *testing.T) {
	for _, manner := range []string{noChannel, noProgram, noReader} {
		synctest.Test(t, func(t *testing.T) {
			s := sessionAt(t, manner)
			begun := time.Now()
			err := s.begin(t.Context(), "far", sshside.Begin{})
			if took := time.Since(begun); took != startWait {
				t.Errorf("%s: the start ended after %s", manner, took)
			}
			wantFault(t, err, "does not go on")
		})
	}
}

// TestASlowStartGoesOn as long as the machine takes one piece after the other.
func TestASlowStartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessionAt(t, slowReader)
		begun := time.Now()
		if err := s.begin(t.Context(), "far", sshside.Begin{}); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took < 10*startWait {
			t.Errorf("the start took only %s, so that it tried nothing", took)
		}
		s.conn.Close()
		time.Sleep(time.Hour) // until the reader has read the rest, and ends
	})
}

func wantFault(t *testing.T, err error, what string) {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) || !strings.Contains(fault.What, what) || fault.Remedy == "" {
		t.Errorf("got %v, want a fault with a remedy: %s", err, what)
	}
}
