package turns

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// activity is what a running assistant is doing.
type activity int

const (
	isBusy     activity = iota // a turn is under way
	isResting                  // it has nothing to do and may get a follow-up
	isClosing                  // it was asked to end
	isStopping                 // it is being ended
)

// Outputs are rate-limited; a faster assistant blocks on its pipe. So an assistant in a
// loop floods no chat, and one without visible output does not keep the host busy.
const (
	replyBurst = 10
	replyEvery = 3 * time.Second
)

// roomPatience is how long an answer waits for room in the outbox.
const roomPatience = 5 * time.Minute

// session is one run of a group's assistant, from its start to its end. One goroutine,
// owned by Manager.Run, does all of its work.
type session struct {
	m   *Manager
	c   *conversation
	log *slog.Logger

	id       string // for the keys of replies
	agent    string // the agent's session id, until it is kept; empty: it is
	inputs   *inputs
	stamp    string // in its requests: the id of its first turn; empty: the chat has no threads
	idleTime time.Duration
	turnTime time.Duration
	child    runtime.Session
	turn     *turn
	doing    activity
	timer    *time.Timer // of the turn, of resting or of closing, as doing says
	fault    string      // why the host ended it with a turn open
	slow     bool        // the fault is that it took too long
	why      cause.Cause // of the fault; see package cause
	trouble  *trouble
	replies  int
	pace     *rate.Limiter
	typing   *typist
	isolated bool           // it runs one task, and is not the conversation's
	over     bool           // its assistant has ended
	helpers  sync.WaitGroup // the goroutines that this one owns
}

func newSession(m *Manager, c *conversation) *session {
	return &session{
		m: m, c: c, log: c.logger(m.o.Log), id: uuid.NewString(),
		pace: rate.NewLimiter(rate.Every(replyEvery), replyBurst), trouble: newTrouble(),
	}
}

func (s *session) run(ctx context.Context) {
	s.m.mu.Lock()
	var records []*record
	if !s.c.stopping() {
		records = s.c.takeFree()
	}
	attempt, told := s.c.attempt, s.c.waits
	s.c.waits = false
	s.m.mu.Unlock()
	s.turn = newTurn(uuid.NewString(), s.c.thread, attempt)
	s.turn.Place = s.c.place // it does not change while the session runs
	s.inputs = s.m.inputsOf(s.c.chat, s.c.place)
	s.turn.add("", records)
	s.isolated = len(records) == 1 && records[0].Isolated
	if told {
		s.turn.Started = s.turn.Started.Add(time.Millisecond) // after the message above, which counts as sent
	}

	err := context.Cause(ctx)
	if err == nil {
		s.m.readContents(s.c.chat, records)
		err = s.start(ctx, records, prompt(messages(records), s.m.o.Plans.Zone(s.c.group.Folder)))
	}
	if err == nil {
		s.c.lost = time.Time{}
		s.log.Info("assistant started", "messages", len(records), "attempt", attempt+1)
		s.m.ack(ctx, s.c, records)
		err = s.converse(ctx)
	}
	s.over = true
	s.settle(ctx, err)
}

// converse passes messages and outputs between chat and assistant until the assistant has
// ended, and returns how it ended.
func (s *session) converse(ctx context.Context) error {
	defer s.helpers.Wait()
	s.typing = newTypist(s.m.o.Platforms, s.c.group.Address(), s.c.thread)
	s.helpers.Go(func() { s.typing.run(ctx) })
	defer s.typing.end()
	s.timer = time.NewTimer(s.turnTime)
	defer s.timer.Stop()
	defer s.trouble.due.Stop()
	ended := make(chan error, 1)
	s.helpers.Go(func() { ended <- s.child.Wait() })

	s.typing.show(true)
	outputs, done := s.child.Outputs(), ctx.Done()
	for {
		select {
		case out, more := <-outputs:
			if !more { // it can produce no more output
				outputs = nil
				s.close()
				continue
			}
			s.onOutput(ctx, out)
		case err := <-ended:
			if outputs != nil {
				for out := range outputs {
					s.onOutput(ctx, out)
				}
			}
			return err
		case <-s.c.nudge:
			s.attend()
		case <-s.timer.C:
			s.expire()
		case <-s.trouble.due.C:
			s.tellTrouble(ctx)
		case <-done:
			done = nil
			s.stop()
		}
	}
}

// onOutput sends an output to the chat. The output ends the turn for the messages that the
// assistant had read.
func (s *session) onOutput(ctx context.Context, out runtime.Output) {
	if out.Status == runtime.Waiting {
		s.report(out)
		return
	}
	s.m.mu.Lock()
	s.c.turns.count(out.Usage)
	s.m.mu.Unlock()
	if ctx.Err() == nil {
		s.pace.Wait(ctx) // returns early when the host ends
	}
	if ordered(ctx) { // output after a stop is dropped
		return
	}
	if id := out.NewSessionID; id != "" && len(id) <= 512 && !s.isolated {
		if kept, err := s.c.store.agentSession(s.c.thread); err != nil || id != kept {
			s.agent = id
		}
	}
	if out.Status == runtime.Failure {
		if s.fault == "" {
			s.why = cmp.Or(cause.Parse(out.Cause), cause.Failed)
		}
		s.fail("the assistant reports: %q", inbound.Cut(out.Error, 500))
		return
	}
	text := chatText(out.Result)
	if text != "" {
		if err := s.reply(ctx, text); err != nil {
			s.fail("its answer could not be kept: %v", err)
			return
		}
	}
	s.endTurn(out, text != "")
}

func (s *session) reply(ctx context.Context, text string) error {
	if err := s.awaitRoom(ctx); err != nil {
		return err
	}
	if ordered(ctx) {
		return errOrdered
	}
	s.replies++
	return s.m.say(ctx, s.c, text, inbound.Key(s.id, fmt.Sprint(s.replies)))
}

// awaitRoom delays an answer while too much of the group waits to be sent: if a platform
// is away, answers would pile up without bound.
func (s *session) awaitRoom(ctx context.Context) error {
	patience := time.After(roomPatience)
	for {
		err := s.m.o.Chat.Room(s.c.group.Folder)
		if err == nil || ctx.Err() != nil { // a host that ends keeps the last messages
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-patience:
			return err
		case <-ctx.Done():
		}
	}
}

// rest waits for a follow-up. A record may already wait, and other conversations may need
// the room.
func (s *session) rest() {
	s.typing.show(false)
	if s.isolated {
		s.close()
		return
	}
	s.doing = isResting
	s.timer.Reset(s.idleTime)
	s.m.mu.Lock()
	s.c.resting, s.c.since = true, time.Now()
	s.m.makeRoom() // at once, or its own next message would come before those of the others
	s.m.mu.Unlock()
	wake.Up(s.c.nudge)
}

// maxInputs is how many follow-ups an assistant gets in one turn. Later messages wait for
// the next turn, which holds as many messages as a prompt has room for.
const maxInputs = 32

// attend makes room if it was asked to, or hands over waiting records.
func (s *session) attend() {
	if s.doing >= isClosing {
		return
	}
	s.m.mu.Lock()
	alone := s.c.isolatedNext()
	yield := (s.c.yielding || s.c.stale || alone) && s.doing == isResting
	s.c.yielding = yield // a session that is busy again is not asked any more
	var records []*record
	if !yield && !alone && !s.isolated && !s.c.stopping() && len(s.turn.Inputs) < maxInputs && s.c.urgent() && !s.m.outstayed(s.c) {
		if s.c.resting {
			s.c.since = time.Now()
		}
		records, s.c.resting = s.c.takeFree(), false
	}
	s.m.mu.Unlock()
	switch {
	case yield: // the waiting conversation was called first, or this one waits for a new session
		s.close()
	case len(records) > 0:
		s.followUp(records)
	}
}

// followUp hands records to the running assistant.
func (s *session) followUp(records []*record) {
	name := s.inputs.next()
	if s.turn.empty() { // what was sent while the session rested does not belong to this turn
		s.turn.Started = now()
	}
	s.turn.add(name, records)
	s.m.readContents(s.c.chat, records)
	err := s.commit(nil, s.c.store.Remembering(messages(records))) // before the assistant can have read it
	if err == nil {
		err = s.inputs.write(name, prompt(messages(records), s.m.o.Plans.Zone(s.c.group.Folder)))
	}
	if err != nil {
		s.log.Error("follow-up not handed over", "error", err)
		s.turn.unread(map[string]bool{name: true})
		s.save(nil)
		s.giveBack(records)
		if s.doing == isResting { // it gets them from its next prompt
			s.stop()
		}
		return
	}
	s.m.ack(context.Background(), s.c, records)
	if s.doing == isResting {
		s.doing = isBusy
		s.timer.Reset(s.turnTime)
		s.typing.show(true)
	}
}

// expire acts on the timer.
func (s *session) expire() {
	switch s.doing {
	case isBusy:
		s.slow, s.why = true, cmp.Or(s.trouble.cause, cause.Slow)
		s.fail("no output within %s", s.turnTime)
	case isResting:
		s.close()
	case isClosing:
		s.stop()
	case isStopping:
	}
}

func (s *session) fail(format string, args ...any) {
	if s.fault == "" {
		s.fault = fmt.Sprintf(format, args...)
	}
	s.stop()
}

// close asks the assistant to end, and kills it if it does not.
func (s *session) close() {
	if s.doing >= isClosing {
		return
	}
	s.leave(isClosing)
	s.timer.Reset(s.m.o.CloseGrace)
	if err := s.inputs.close(); err != nil {
		s.log.Warn("assistant not asked to end", "error", err)
		s.stop()
	}
}

func (s *session) stop() {
	if s.doing == isStopping {
		return
	}
	s.leave(isStopping)
	s.timer.Stop()
	s.helpers.Go(func() { s.child.Stop(context.Background()) })
}

func (s *session) leave(to activity) {
	s.doing = to
	s.m.mu.Lock()
	s.c.resting, s.c.ending = false, true
	s.m.mu.Unlock()
}

func (s *session) endTurn(out runtime.Output, said bool) {
	s.noTrouble()
	moved := said || s.doing == isBusy && s.turn.empty()
	if !s.turn.empty() {
		done := s.turn.ended(s.unread(out))
		moved = moved || len(done) > 0
		s.turn.Started, s.turn.Attempt = now().Add(time.Millisecond), 0 // after the answer, which counts as sent
		s.save(done)
	} else if s.agent != "" {
		s.save(nil)
	}
	s.m.mu.Lock()
	if s.c.cause.Permanent() {
		s.m.mended(s.c.configured().Assistant)
	}
	s.c.succeeded()
	s.c.turns.Done = time.Now()
	if moved {
		s.c.turns.Answered++
	}
	s.m.mu.Unlock()
	switch {
	case s.doing >= isClosing:
	case !moved: // an output that shows nothing and ends nothing does not keep the session alive
	case s.turn.empty():
		s.rest()
	default:
		s.timer.Reset(s.turnTime)
		wake.Up(s.c.nudge) // there may be room for another follow-up
	}
}

// unread returns the follow-ups that an output does not answer: those that it does not
// name or, if it names none, those that are still in the directory.
func (s *session) unread(out runtime.Output) map[string]bool {
	if out.Inputs == nil {
		return s.inputs.unread()
	}
	unread := map[string]bool{}
	for name := range s.turn.Inputs {
		unread[name] = !slices.Contains(out.Inputs, name)
	}
	return unread
}
