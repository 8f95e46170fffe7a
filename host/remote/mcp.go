package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/mark3labs/mcp-go/server"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/agentrunner/tools"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/remote/calls"
	"github.com/longshore-bridge/longshore/host/remote/intake"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
)

const mcpPath = "/mcp"

// serveMCP serves the tools by MCP's Streamable HTTP. A server lives as long as its
// request: nothing of one caller can reach another.
func (s *Server) serveMCP(rw http.ResponseWriter, r *http.Request, who tokens.Identity) error {
	g, ok := s.Live.Registry().ByFolder(who.Folder)
	if !ok {
		return tokens.ErrUnauthorized
	}
	key, err := keyOf(r, nil)
	if err != nil {
		return err
	}
	body, place, err := s.readMCP(rw, r, who)
	if err != nil {
		return err
	}
	if place != nil {
		defer place.End()
	}
	if isNotification(body) {
		rw.WriteHeader(http.StatusAccepted)
		return nil
	}
	longest := s.Live.Wait() + s.Limits.Grace // a call for notifications would never end
	ctx, cancel := context.WithTimeout(r.Context(), longest)
	defer cancel()
	r = r.WithContext(ctx)
	r.Body, r.ContentLength = io.NopCloser(&releasedBody{body}), int64(len(body))
	about := s.about(g)
	client := sender.Over(sender.Config{Folder: g.Folder, Main: about.Main, Thread: who.Thread, Wait: s.Live.Wait()},
		&inside{Server: s, who: who, about: about, key: key, ctx: ctx, place: place}, sender.FilesHosts)
	// guard has checked the names that it answers to.
	server.NewStreamableHTTPServer(tools.Server(client, about.Host), server.WithStateLess(true), server.WithDisableStreaming(true),
		server.WithDisableLocalhostProtection(true), server.WithStreamableHTTPLogger(s.Log)).ServeHTTP(rw, r)
	return nil
}

// isNotification reports whether a body is a notification of MCP. Nothing of a client outlives
// its request here, so a notification changes nothing, and is accepted whatever else it says:
// the library would refuse one without the fields of a request, such as the go-sdk sends.
func isNotification(body []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	return json.Unmarshal(body, &m) == nil && m.ID == nil && strings.HasPrefix(m.Method, "notifications/")
}

// releasedBody is a body that frees its memory once it is read.
type releasedBody struct{ rest []byte }

func (s *releasedBody) Read(p []byte) (int, error) {
	n := copy(p, s.rest)
	if s.rest = s.rest[n:]; len(s.rest) == 0 {
		s.rest = nil
		return n, io.EOF
	}
	return n, nil
}

// readMCP reads a call. Only the content of a file may make it large: then the call keeps its
// place, which the caller ends. The place of another call is nil.
func (s *Server) readMCP(rw http.ResponseWriter, r *http.Request, who tokens.Identity) (_ []byte, place *intake.Body, err error) {
	if place = s.bodies.Begin(who.Folder); place == nil {
		return nil, nil, errBusy
	}
	body, err := s.readCall(s.Limits.Body(rw, r, s.Limits.Largest()))
	if err != nil || int64(len(body)) <= s.Limits.Fields {
		place.End()
		return body, nil, err
	}
	return body, place, nil
}

// readCall reads the bytes of a call.
func (s *Server) readCall(from io.Reader) ([]byte, error) {
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, tooLarge(err, s.Limits.Largest())
	}
	if int64(len(body)) <= s.Limits.Fields {
		return body, nil
	}
	var call struct {
		Params struct {
			Arguments struct {
				Content json.RawMessage `json:"content_base64"`
			} `json:"arguments"`
		} `json:"params"`
	}
	content := &call.Params.Arguments.Content // one text: many small values would take far more memory than their bytes
	if json.Unmarshal(body, &call) != nil || int64(len(body)-len(*content)) > s.Limits.Fields || (*content)[0] != '"' {
		return nil, tooLarge(&http.MaxBytesError{}, s.Limits.Fields)
	}
	return body, nil
}

// about is what a group's tools may tell. Without an assistant of the host's, no directory
// is shared.
func (s *Server) about(g groups.Group) ipc.Context {
	c := s.Chats.Context(g)
	if !s.Live.SharesDirectories(g) {
		c.Mounts = nil
	}
	return c
}

// inside is the way of the tools into the queue from within the host, for one request.
type inside struct {
	*Server
	who   tokens.Identity
	about ipc.Context
	key   string
	ctx   context.Context // of the request
	given []stagedFile    // what its calls carried
	place *intake.Body    // of a large call; nil: the call is small
}

// workingDir is where relative paths begin in a container.
const workingDir = "/workspace/group"

// Enqueue is as every other call: see order.
func (in *inside) Enqueue(ctx context.Context, r ipc.Request, _ ipc.Type, key string) (string, error) {
	for i := range r.Files {
		p := &r.Files[i].Path
		if !path.IsAbs(*p) && !strings.HasPrefix(*p, uploadPrefix) && !strings.HasPrefix(*p, contentPrefix) {
			*p = path.Join(workingDir, *p)
		}
	}
	key = cmp.Or(key, in.key)
	if err := checkKey(key); err != nil { // the tool's own is as the model wrote it
		return "", in.words(err)
	}
	// A caller that goes away as its request is made still takes it back, so it must know its id.
	result, err := in.order(context.WithoutCancel(ctx), in.who, key, r, in.given)
	in.given = nil // the queue has copies
	return result.ID, in.words(err)
}

// words is an error as the tools may show it: a refusal, or that there is one for the log.
func (in *inside) words(err error) error {
	var p *httpd.Problem
	err = httpd.OrDiskFull(err)
	switch {
	case err == nil || refusal.Of(err) != nil:
		return err
	case errors.As(err, &p):
	default:
		in.Log.Error("call of a tool of an assistant elsewhere not answered", "error", err)
		p = errNotRecorded
	}
	return &refusal.Error{Code: p.Code, Message: p.Message, Hint: p.Hint}
}

// Wait returns at a final result, or with the last one when ctx ends. If too many large calls of
// the group wait, a further one hears at once that its delivery is queued.
func (in *inside) Wait(ctx context.Context, id string, changed func(ipc.Result)) (ipc.Result, error) {
	last, err := in.Status(id)
	waits := in.place == nil || in.place.Stay()
	for err == nil {
		if changed != nil {
			changed(last)
		}
		if last.Status.Final() || ctx.Err() != nil || !waits {
			break
		}
		last = in.await(ctx, in.who.Folder, last, in.Live.Wait(), last.Time)
	}
	in.unstage(in.who, last)
	return last, err
}

// Status returns the current result of a delivery of the conversation.
func (in *inside) Status(id string) (ipc.Result, error) {
	c, err := in.calls.Find(context.WithoutCancel(in.ctx), in.who, id)
	if err == nil && c.Cancelled {
		err = errCancelled
	}
	if err != nil {
		return ipc.Result{}, in.words(err)
	}
	last := in.status(in.who.Folder, c)
	if !last.Status.Final() && last.Channel == "" && in.expired(c) {
		return ipc.Result{}, in.words(calls.ErrUnknown)
	}
	in.unstage(in.who, last)
	return last, nil
}

// Withdraw takes a delivery back that is not accepted yet.
func (in *inside) Withdraw(id string) (bool, error) {
	_, done, err := in.cancelDelivery(context.WithoutCancel(in.ctx), in.who, id)
	return done, in.words(err)
}

// contentPrefix begins the path of a file that a call carried.
const contentPrefix = "content:"

// Stage keeps the content of a file until its request is submitted. Its size is bounded by
// that of the call.
func (in *inside) Stage(_ context.Context, _ string, r io.ReadSeeker) (string, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	f := stagedFile{path: fmt.Sprint(contentPrefix, len(in.given)), name: stagedName, file: bytes.NewReader(b), sum: sum[:]}
	in.given = append(in.given, f)
	return f.path, nil
}

// Unstage has nothing to do: what was staged ends with the request.
func (in *inside) Unstage(string) error { return nil }

// Context returns what the tools may tell.
func (in *inside) Context() (ipc.Context, error) { return in.about, nil }

var _ sender.Client = (*inside)(nil)
