package ssh

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/longshore-bridge/longshore/agentrunner/sshside"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/feed"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// Access lets an assistant in that was started here.
type Access interface {
	// Admit serves the assistant of a group over a listener of its own, and returns the
	// token that it must show there. end takes both back.
	Admit(l net.Listener, folder, thread string) (token string, end func(), err error)
}

// ModelAccess serves the models' proxy of a group over a listener, until end.
type ModelAccess func(ctx context.Context, l net.Listener, folder string) (end func(), err error)

// Runtime starts assistants on another machine, over ssh. Each session has a connection of
// its own. Fields but Log and Model are needed.
type Runtime struct {
	Target
	Program []string // agentrunner: the binary to copy, on this machine, and the arguments before its command
	Home    string   // of this installation; it tells apart what several hosts have in one account
	Access  Access
	Log     *slog.Logger

	// Model serves the models' proxy of a group over a listener of its own, until end.
	// nil: the assistant reaches its model by itself.
	Model ModelAccess
}

var _ runtime.Runtime = Runtime{}

// ModelListen is the host and port in the addresses of models that an assistant is given.
// agentrunner replaces the port there.
const ModelListen = sshside.ModelListen

// unreachable is a failure before anything was started.
type unreachable struct{ error }

// Is says that the machine is away, so that the messages are kept.
func (unreachable) Is(target error) bool { return target == runtime.ErrAway }

func (u unreachable) Unwrap() error { return u.error }

// Start implements runtime.Runtime. If the machine cannot be reached or used, the error is
// runtime.ErrAway and wraps a *Fault.
func (r Runtime) Start(ctx context.Context, spec runtime.Spec) (runtime.Session, error) {
	if spec.Place > 0 {
		return nil, errors.New("assistants over ssh cannot run at the same time")
	}
	s, err := r.open(ctx, spec)
	if err != nil {
		return nil, cause.With(cause.Engine, unreachable{Words(err)})
	}
	go s.run()
	return s, nil
}

// Words adds what the operator can do to the error, if it is known.
func Words(err error) error {
	if f := (*Fault)(nil); errors.As(err, &f) {
		return fmt.Errorf("%w; to do: %s", err, f.Remedy)
	}
	return err
}

// Check connects, and looks at what a session needs but changes nothing.
func (r Runtime) Check(ctx context.Context) error {
	conn, err := Dial(ctx, r.Target)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Probe(ctx, r.Program[0])
	return err
}

// Program is the agentrunner that is copied to other machines, and the arguments before its
// command: the small one beside this program, if it is there, or this program.
func Program() ([]string, error) {
	if beside, err := runtime.Beside(); err == nil {
		return []string{beside}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find own executable: %w", err)
	}
	return []string{self, "agentrunner"}, nil
}

// slot names a group's place in the account.
func (r Runtime) slot(folder string) string {
	sum := sha256.Sum256([]byte(r.Home + "\x00" + folder))
	return hex.EncodeToString(sum[:6])
}

// open connects and starts the far program, which waits for the document then.
func (r Runtime) open(ctx context.Context, spec runtime.Spec) (_ *session, err error) {
	folder := spec.Group.Folder
	s := &session{Life: runtime.NewLife(), log: r.Log.With("group", folder)}
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	if s.conn, err = Dial(ctx, r.Target); err != nil {
		return nil, err
	}
	home, err := s.conn.Probe(ctx, r.Program[0])
	if err != nil {
		return nil, err
	}
	program, err := s.conn.Install(ctx, home, r.Program[0])
	if err != nil {
		return nil, err
	}
	listener, socket, err := s.conn.Listen(ctx, home, r.slot(folder))
	if err != nil {
		return nil, err
	}
	token, end, err := r.Access.Admit(listener, folder, spec.Thread)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.ends = append(s.ends, end)
	model, err := r.openModel(ctx, s, home, folder)
	if err != nil {
		return nil, err
	}
	if s.stderrTo = io.Discard; spec.LogDir != "" {
		log, err := runtime.OpenLog(spec.LogDir)
		if err != nil {
			return nil, err
		}
		s.stderrTo, s.closers = log, append(s.closers, log)
	}
	begin := sshside.Begin{Folder: folder, Slot: r.slot(folder), Agent: spec.Agent, Env: feed.Environment(spec), Socket: socket, Token: token, Model: model, Mark: "longshore-" + rand.Text()}
	s.feeder = &feed.Feeder{Spec: spec, Mark: begin.Mark, Break: s.conn.client, Log: s.log}
	return s, s.begin(ctx, strings.Join(append(append([]string{program}, r.Program[1:]...), "far"), " "), begin)
}

// openModel opens the session's way to the models' proxy, and returns its socket there;
// empty: it has none.
func (r Runtime) openModel(ctx context.Context, s *session, home Home, folder string) (socket string, err error) {
	if r.Model == nil {
		return "", nil
	}
	listener, socket, err := s.conn.Listen(ctx, home, r.slot(folder+"\x00model"))
	if err != nil {
		return "", err
	}
	end, err := r.Model(ctx, listener, folder)
	if err != nil {
		return "", errors.Join(fmt.Errorf("open the way to the model: %w", err), listener.Close())
	}
	s.ends = append(s.ends, end)
	return socket, nil
}

// session is one assistant. Its goroutine run owns the connection and the others.
type session struct {
	*runtime.Life
	feeder   *feed.Feeder
	conn     *Conn
	far      *ssh.Session
	ends     []func() // end the ways to the host and to the models
	stderrTo io.Writer
	closers  []io.Closer
	stdout   io.Reader
	stderr   io.Reader
	log      *slog.Logger
}

// startWait is how long each step of a start may take: the machine opens a channel, it starts
// the far program, and it takes a piece of the files or the document. The whole may take
// longer, since a large file needs its time on a slow line. startWait is longer than the far
// program waits for an older session to end (40 s), because it reads nothing meanwhile.
const startWait = time.Minute

// pieceBytes is the size of the pieces that are written during a start.
const pieceBytes = 32 << 10

// errStuck ends a start of which a step took longer than startWait.
var errStuck = &Fault{"the machine does not go on with the start", "check the machine's load and its disk, and the line to it", nil}

// begin starts the far program, and hands over the files and the document. If ctx ends, or a
// step takes too long, it closes the connection: package ssh can cancel none of the steps.
func (s *session) begin(ctx context.Context, command string, begin sshside.Begin) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { s.conn.client.Close() })
	late := time.AfterFunc(startWait, func() { cancel(errStuck) })
	defer late.Stop()
	err := s.start(command, begin, late)
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// start does the steps of begin, and resets late before each.
func (s *session) start(command string, begin sshside.Begin, late *time.Timer) (err error) {
	if s.far, err = s.conn.client.NewSession(); err != nil {
		return fmt.Errorf("open ssh session: %w", err)
	}
	var stdin io.Writer
	var errs [3]error
	stdin, errs[0] = s.far.StdinPipe()
	s.stdout, errs[1] = s.far.StdoutPipe()
	s.stderr, errs[2] = s.far.StderrPipe()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	late.Reset(startWait)
	if err := s.far.Start(command); err != nil {
		return fmt.Errorf("start agentrunner: %w", err)
	}
	s.feeder.To = pieces{stdin, late}
	defer func() { s.feeder.To = stdin }()
	return s.feeder.Open(begin)
}

// pieces writes in pieces, and resets a timer to startWait before each.
type pieces struct {
	to   io.Writer
	late *time.Timer
}

// Write implements io.Writer.
func (w pieces) Write(p []byte) (n int, err error) {
	for piece := range slices.Chunk(p, pieceBytes) {
		w.late.Reset(startWait)
		m, err := w.to.Write(piece)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// run reads what the assistant says until it has ended.
func (s *session) run() {
	defer s.End()
	defer s.free()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	parser, throttle := &runtime.Parser{Emit: s.Emit}, runtime.NewThrottle(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() {
		defer s.Silence()
		copyAt(throttle, parser, s.stdout)
		parser.Close()
	})
	helpers.Go(func() {
		copyAt(throttle, s.feeder.LogTo(s.stderrTo), s.stderr)
	})
	feeding, stop := context.WithCancel(ctx)
	var feeder sync.WaitGroup
	feeder.Go(func() { s.feeder.Run(feeding) })
	err := s.far.Wait()
	stop()
	helpers.Wait()
	feeder.Wait()
	if parser.Broken > 0 {
		s.log.Warn("the assistant wrote broken outputs", "count", parser.Broken)
	}
	err = s.Conclude(ended(err))
	if l, ok := s.stderrTo.(*runtime.Log); ok {
		l.Note("session ended: %v", err)
	}
}

// ended is how a session ended, in words.
func ended(err error) error {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.Signal() != "":
		return fmt.Errorf("agentrunner on the machine was ended by signal %.20q", exit.Signal())
	case errors.As(err, &exit):
		return fmt.Errorf("agentrunner on the machine ended with status %d", exit.ExitStatus())
	case errors.As(err, &missing):
		return fmt.Errorf("%w: the connection to the machine ended", runtime.ErrLost)
	}
	return fmt.Errorf("%w: %w", runtime.ErrLost, err)
}

// copyAt copies through a throttle until the stream's end.
func copyAt(throttle *runtime.Throttle, to io.Writer, from io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		_, _ = to.Write(buf[:n])
		throttle.Spend(n)
		if err != nil {
			return
		}
	}
}

// free ends the connection and all that leads over it.
func (s *session) free() {
	if s.conn != nil {
		s.conn.client.Close() // before the end of access, whose calls wait for the machine
	}
	for _, end := range s.ends {
		end()
	}
	if s.conn != nil {
		s.conn.Close()
	}
	for _, c := range s.closers {
		_ = c.Close()
	}
}

// stopWait is how long the far program has to end the assistant, and to say so.
const stopWait = sshside.StopGrace + 5*time.Second

// Stop implements runtime.Session. If the machine does not answer, the connection is
// ended, and the far program ends the assistant.
func (s *session) Stop(ctx context.Context) {
	s.Stopping()
	asked := make(chan struct{})
	go func() { // the machine may read nothing
		defer close(asked)
		_ = s.feeder.Write(sshside.Frame{Kind: sshside.KindStop}, nil)
	}()
	select {
	case <-s.Done():
	case <-time.After(stopWait):
	case <-ctx.Done():
	}
	s.DiscardOutputs()
	s.conn.client.Close()
	<-s.Done()
	<-asked
}
