package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/refusal"
)

// maxBody is the size of the largest request body on the control socket, in
// bytes.
const maxBody = 64 << 10

// Server serves a Control on the control socket:
//
//	POST /v1/<name>   the calls of ops
//
// and the paths of Health below /healthz, /readyz and /metrics. Errors are a JSON object
// with code, message and hint.
//
// The caller has locked the outbox, which gives it the right to the socket.
type Server struct {
	Dir     string       // directory of the socket, see ControlDir
	Control Control      // what the socket offers
	Health  http.Handler // see Local.Health; may be nil
	Runtime string       // directory for the socket if its own path would be too long; empty: from the environment
	Log     *slog.Logger // may be nil

	Look time.Duration // how often Run looks whether the socket is still there; 0: five seconds
}

// Run serves until ctx is done, which is no error, and removes the socket. A socket that is
// deleted meanwhile is made again. All its goroutines have ended when it returns. If a host
// already answers on the socket, the error is ErrRunning.
func (s *Server) Run(ctx context.Context) error {
	at, err := listen(ctx, s.Dir, s.Runtime)
	if err != nil {
		return err
	}
	defer func() { at.remove() }()
	log := cmp.Or(s.Log, slog.New(slog.DiscardHandler))
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	serve := func() {
		ln := peerListener{at.UnixListener, log}
		go func() { done <- srv.Serve(ln) }()
	}
	serve()
	look := time.Tick(cmp.Or(s.Look, 5*time.Second))
	for ctx.Err() == nil {
		select {
		case err = <-done:
			return fmt.Errorf("serve control socket: %w", err)
		case <-ctx.Done():
		case <-look:
			if at.there() {
				continue
			}
			next, failed := listen(ctx, s.Dir, s.Runtime)
			if failed != nil {
				log.Error("the control socket was deleted and cannot be made again", "error", failed)
				continue
			}
			log.Warn("the control socket was deleted, and is made again")
			at.remove()
			<-done
			at = next
			serve()
		}
	}
	// The calls in progress end with ctx; their replies get one second.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if srv.Shutdown(stop) != nil {
		_ = srv.Close()
	}
	<-done
	return nil
}

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
	mux := http.NewServeMux()
	for name, do := range ops {
		mux.HandleFunc("POST /v1/"+name, func(w http.ResponseWriter, r *http.Request) {
			in, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
			if err != nil || !utf8.Valid(in) {
				reply(w, nil, badCall("the call is no text of at most "+strconv.Itoa(maxBody)+" bytes"))
				return
			}
			out, err := do(r.Context(), s.Control, in)
			reply(w, out, err)
		})
	}
	if s.Health != nil {
		mux.Handle("GET /healthz", s.Health)
		mux.Handle("GET /readyz", s.Health)
		mux.Handle("GET /metrics", s.Health)
	}
	return mux
}

// reply writes v, or err as an Error. The operator may see the text of every
// error, as only the host's own user can reach the socket.
func reply(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		answer := refusal.Error{Code: codeInternal, Message: err.Error()}
		if r := refusal.Of(err); r != nil {
			answer = *r
		}
		w.WriteHeader(httpStatus(answer.Code))
		v = answer
	}
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the caller went away
}

func httpStatus(code string) int {
	switch code {
	case CodeNotFound:
		return http.StatusNotFound
	case CodeUnwell:
		return http.StatusServiceUnavailable
	case CodeBadCall:
		return http.StatusBadRequest
	case CodeUnknownHost:
		return http.StatusMisdirectedRequest
	case CodeCrossSite:
		return http.StatusForbidden
	case codeInternal:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}
