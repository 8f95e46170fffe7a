package whatsapptest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
	waLog "go.mau.fi/whatsmeow/util/log"
)

// Options configures a Server. The zero value is usable.
type Options struct {
	// Dir is where uploads are kept; a temporary directory, removed by Close,
	// where empty.
	Dir string
	// DiscardMedia keeps only the hash of what is uploaded. Downloads of it
	// are refused.
	DiscardMedia bool
	// FewKeys tells a new client that it has a one-time key already, so that it
	// makes 50 and not 812: most of the time that pairing takes.
	FewKeys bool
	// Revision is the newest client revision: announced on the web page that
	// clients read it from. Older clients are refused (405) if RefuseOlder is set.
	Revision    uint32
	RefuseOlder bool
	// Log tells what the server does; nothing where nil.
	Log *slog.Logger
	// ClientLog is the log of the members' whatsmeow clients.
	ClientLog waLog.Logger
}

const defaultRevision = 1_040_000_000

// Server is a WhatsApp on loopback. Its methods may be called from any goroutine.
type Server struct {
	opts   Options
	log    *slog.Logger
	static *keys.KeyPair
	chain  []byte

	listener net.Listener
	http     *http.Server
	client   *http.Client
	dir      *os.Root
	dirPath  string
	ownDir   bool

	ctx    context.Context // ends all sockets
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	changed  chan struct{} // closed and made anew whenever something happened
	sessions map[*session]struct{}
	people   map[string]*Phone // by number
	byLID    map[string]*Phone // by the LID's user part
	groups   map[types.JID]*Group
	refs     map[string]*session // of QR codes
	serial   uint64

	scripts []*Script
	auths   map[string]bool // media auth tokens that are good
	files   map[string]*file
	fileKey map[string]ownedFile // by message id
	renewAt string               // what phones answer that are asked for a file
	relayed []*Relayed
	uploads []Upload
}

// New starts a server on a port of 127.0.0.1. It panics where it cannot, as
// httptest.NewServer does. Close stops it.
func New(opts Options) *Server {
	s, err := start(opts)
	if err != nil {
		panic("whatsapptest: " + err.Error())
	}
	return s
}

func start(opts Options) (*Server, error) {
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.ClientLog == nil {
		opts.ClientLog = waLog.Noop
	}
	if opts.Revision == 0 {
		opts.Revision = defaultRevision
	}
	s := &Server{
		opts: opts, log: opts.Log, static: keys.NewKeyPair(), dirPath: opts.Dir,
		changed: make(chan struct{}), sessions: map[*session]struct{}{},
		people: map[string]*Phone{}, byLID: map[string]*Phone{}, groups: map[types.JID]*Group{},
		refs: map[string]*session{}, auths: map[string]bool{}, files: map[string]*file{}, fileKey: map[string]ownedFile{},
	}
	var err error
	if s.chain, err = certChain(*s.static.Pub); err != nil {
		return nil, err
	}
	if s.dirPath == "" {
		s.ownDir = true
		if s.dirPath, err = os.MkdirTemp("", "whatsapptest-*"); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.OpenRoot(s.dirPath); err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	s.client = ClientFor(s.Addr())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: s.routes(), ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), ConnState: s.connState}
	s.wg.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("serving ended", "error", err)
		}
	})
	return s, nil
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ws/chat", s.serveSocket)
	mux.HandleFunc("POST /mms/{kind}/{token}", s.serveUpload)
	mux.HandleFunc("GET "+mediaPath+"{name}", s.serveDownload)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<html><script>{"client_revision":%d,"x":0}</script></html>`, s.opts.Revision)
	})
	return mux
}

// Addr is the server's host and port, for ClientFor in another process.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the server's address as a plain http URL.
func (s *Server) URL() string { return "http://" + s.Addr() }

// HTTPClient reaches this server whatever a request's host. It is shared by
// all callers, and Close closes its connections.
func (s *Server) HTTPClient() *http.Client { return s.client }

// Close cuts all sockets and transfers, waits until every goroutine of the
// server has ended, and removes what was uploaded.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	_ = s.http.Close()
	s.wg.Wait()
	s.client.CloseIdleConnections()
	_ = s.dir.Close()
	if s.ownDir {
		_ = os.RemoveAll(s.dirPath)
	}
}

// connState lets Close wait for connections too: one that was answered early
// lingers for half a second.
func (s *Server) connState(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.wg.Add(1)
	case http.StateHijacked, http.StateClosed:
		s.wg.Done()
	}
}

// enter counts a handler in, so that Close waits for it; false once closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// happened wakes all who wait. The caller holds the lock.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// nextID makes ids of stanzas that begin at the server. The caller holds the lock.
func (s *Server) nextID() string {
	s.serial++
	return fmt.Sprintf("srv-%d", s.serial)
}
