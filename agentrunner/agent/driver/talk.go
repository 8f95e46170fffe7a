package driver

import (
	"context"
	"io"
	"sync"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// listener is a cli that takes messages while it runs. Its events report each
// message that it has taken up ([answer].taken) and each answer.
type listener interface {
	// message returns the line of stdin that carries a text.
	message(id, text string) ([]byte, error)
}

// talk manages what a CLI reads in one turn and what it answers. A CLI that is not a
// listener reads only the prompt.
//
// A listener takes a follow-up up within its current answer, or in another answer
// after it. So the turn is over with the answer at which no follow-up is open. From
// then on nothing is written, and later follow-ups belong to the next turn. mu
// decides which of the two happens first.
type talk struct {
	cli    cli
	turn   agent.Turn
	failed func() // ends the CLI

	mu   sync.Mutex
	open map[string]agent.FollowUp // written but not taken up yet, by id
	done bool
	over chan struct{} // closed when done is set

	err error // error of Taken or Say; only for the goroutine that calls hear
}

func newTalk(c cli, t agent.Turn, failed func()) *talk {
	return &talk{cli: c, turn: t, failed: failed, open: map[string]agent.FollowUp{}, over: make(chan struct{})}
}

// write feeds stdin until the turn is over or ctx ends. A write error is ignored:
// the program has ended or will end, and reports the reason itself.
func (t *talk) write(ctx context.Context, stdin io.WriteCloser) {
	defer stdin.Close()
	l, listens := t.cli.(listener)
	if !listens {
		_, _ = io.WriteString(stdin, t.cli.prompt(t.turn.Prompt))
		return
	}
	if !t.tell(l, stdin, uuid.NewString(), t.turn.Prompt) {
		return
	}
	for {
		select {
		case f := <-t.turn.FollowUps:
			if id := uuid.NewString(); !t.begin(id, f) || !t.tell(l, stdin, id, f.Text) {
				return
			}
		case <-t.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (t *talk) tell(l listener, stdin io.Writer, id, text string) bool {
	line, err := l.message(id, t.cli.prompt(text))
	if err == nil {
		_, err = stdin.Write(append(line, '\n'))
	}
	return err == nil
}

// begin records a follow-up before it is written. It returns false if the turn is
// over.
func (t *talk) begin(id string, f agent.FollowUp) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		t.open[id] = f
	}
	return !t.done
}

// hear acts on the change that one event has made to the answer.
func (t *talk) hear(was answer, a *answer) {
	if a.taken != was.taken {
		t.take(a.taken)
	}
	if a.answers == was.answers {
		return
	}
	if was.done { // that answer was not the last: a task in the background has produced another
		t.say(was)
	}
	if t.end(a.err != "") {
		return
	}
	if a.err != "" { // the CLI would go on to answer the open follow-ups, which belong to the next run
		t.failed()
		return
	}
	t.say(*a)
	a.done, a.text = false, ""
}

func (t *talk) take(id string) {
	t.mu.Lock()
	f, ok := t.open[id]
	delete(t.open, id)
	t.mu.Unlock()
	if ok {
		t.check(f.Taken())
	}
}

func (t *talk) say(a answer) {
	if t.turn.Say != nil {
		t.check(t.turn.Say(a.reply()))
	}
}

// end ends the turn unless a follow-up is open. A failed turn always ends.
func (t *talk) end(failed bool) (quiet bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	quiet = len(t.open) == 0
	if (quiet || failed) && !t.done {
		t.done = true
		close(t.over)
	}
	return quiet
}

func (t *talk) check(err error) {
	if err != nil && t.err == nil {
		t.err = err
		t.failed()
	}
}
