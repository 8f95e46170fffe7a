package operator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// maxBody is the size of the largest request body on the control socket, in
// bytes.
const maxBody = 64 << 10

// Server serves a Control on the control socket:
//
//	POST /v1/<name>   the calls of ops
//
// and the paths of Health below /healthz, /readyz and /metrics. Errors are Problems
// of package httpd.
//
// The caller has locked the outbox, which gives it the right to the socket.
type Server struct {
	Dir     string       // directory of the socket, see ControlDir
	Control Control      // what the socket offers
	Standby Standby      // answers in place of Control, if not nil
	Health  http.Handler // see Local.Health; may be nil
	Runtime string       // directory for the socket if its own path would be too long; empty: from the environment
	Log     *slog.Logger // may be nil

	Look time.Duration // how often Run looks whether the socket is still there; 0: five seconds
}

// Run serves until ctx is done, which is no error, and removes the socket. A socket that is
// deleted meanwhile is made again; if that fails, Run returns why, and may be called again. All its
// goroutines have ended when it returns. If a host already answers on the socket, the error is
// ErrRunning.
func (s *Server) Run(ctx context.Context) error {
	for {
		at, err := listen(ctx, s.Dir, s.Runtime)
		if err != nil {
			return err
		}
		if err := s.serve(ctx, at); err != nil {
			return fmt.Errorf("serve control socket: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
		s.log().Warn("the control socket was deleted, and is made again")
	}
}

// serve serves until ctx is done or the socket was deleted, and removes it. The calls in progress
// end then; their replies get one second.
func (s *Server) serve(ctx context.Context, at *socket) error {
	defer at.remove()
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	looking.Go(func() {
		defer cancel()
		for range wake.Every(ctx, s.every()) {
			if !at.there() {
				return
			}
		}
	})
	guard := httpd.Guard{Names: httpd.NamesOf(socketHost), Programs: true, Hint: "ask for http://" + socketHost}
	srv := httpd.Server{Handler: guard.Wrap(s.Handler()), Log: s.Log, Cancel: true, Grace: time.Second}
	return srv.Serve(ctx, peerListener{at.UnixListener, s.log()})
}

func (s *Server) every() time.Duration { return cmp.Or(s.Look, 5*time.Second) }
func (s *Server) log() *slog.Logger    { return cmp.Or(s.Log, slog.New(slog.DiscardHandler)) }

// peerListener only accepts connections of our own user and of root.
type peerListener struct {
	*net.UnixListener
	log *slog.Logger
}

func (l peerListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if peerAllowed(conn) {
			return conn, nil
		}
		l.log.Warn("refused a control connection of another user")
		_ = conn.Close()
	}
}

// Handler returns the control protocol without its socket.
func (s *Server) Handler() http.Handler {
	mux := &httpd.Mux{}
	for name, do := range ops {
		mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
			in, problem := httpd.ReadAll(w, r, maxBody)
			switch {
			case problem != nil:
				httpd.Fail(w, problem)
			case !utf8.Valid(in):
				reply(w, nil, badCall("the call is no text"))
			default:
				out, err := s.answer(r.Context(), name, do, in)
				reply(w, out, err)
			}
		})
	}
	if s.Health != nil {
		mux.Handle("GET /healthz", s.Health)
		mux.Handle("GET /readyz", s.Health)
		mux.Handle("GET /metrics", s.Health)
	}
	return mux
}

func (s *Server) answer(ctx context.Context, name string, do op, in []byte) (any, error) {
	if s.Standby != nil {
		return s.Standby.Answer(ctx, name)
	}
	return do(ctx, s.Control, in)
}

// reply writes v, or err. The operator may see the text of every error, as only the host's own user
// can reach the socket.
func reply(w http.ResponseWriter, v any, err error) {
	switch r := refusal.Of(err); {
	case err == nil:
		httpd.Answer(w, http.StatusOK, v)
	case r == nil:
		httpd.Fail(w, httpd.Refuse(http.StatusInternalServerError, codeInternal, err.Error(), ""))
	default:
		httpd.Fail(w, httpd.Refuse(httpStatus(r.Code), r.Code, r.Message, r.Hint))
	}
}

func httpStatus(code string) int {
	switch code {
	case CodeNotFound:
		return http.StatusNotFound
	case CodeUnwell, CodeStandby:
		return http.StatusServiceUnavailable
	case CodeBadCall:
		return http.StatusBadRequest
	case codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}
