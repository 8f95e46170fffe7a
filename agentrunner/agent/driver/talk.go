package driver

import (
	"context"
	"io"
	"sync"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
)

// listener is a cli that takes messages while it runs. By its events it tells
// of each that it has taken it up ([answer].taken), and of each answer.
type listener interface {
	// message is the line of stdin that holds a text.
	message(id, text string) ([]byte, error)
}

// talk is what a CLI is told in one turn, and what it answers. A CLI that is no
// listener is told the prompt and nothing else.
//
// A listener takes a follow-up up within the answer that it is making, or in
// one of its own after that. So the turn is over with the answer at which
// nothing is open; from then on nothing is written, and what was offered
// belongs to the next turn. Which of the two it is, is decided under mu.
type talk struct {
	cli    cli
	turn   agent.Turn
	failed func() // ends the CLI

	mu   sync.Mutex
	open map[string]agent.FollowUp // written and not taken up, by id
	done bool
	over chan struct{} // closed once done

	err error // what was taken up or answered could not be told; of the goroutine that hears
}

func newTalk(c cli, t agent.Turn, failed func()) *talk {
	return &talk{cli: c, turn: t, failed: failed, open: map[string]agent.FollowUp{}, over: make(chan struct{})}
}

// write feeds stdin until the turn is over or ctx ends. A program that does
// not read on has ended or will, and says itself why.
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
			id := uuid.NewString()
			if !t.begin(id, f) || !t.tell(l, stdin, id, f.Text) {
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

// begin notes a follow-up before it is written, unless the turn is over.
func (t *talk) begin(id string, f agent.FollowUp) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		t.open[id] = f
	}
	return !t.done
}

// hear acts on what an event has made of the answer that was.
func (t *talk) hear(was answer, a *answer) {
	if a.taken != was.taken {
		t.take(a.taken)
	}
	if a.answers == was.answers {
		return
	}
	if was.done { // it was not the last: a task that ran on in the background brought another
		t.say(was)
	}
	if t.end(a.err != "") {
		return
	}
	if a.err != "" { // it would go on to answer what is open, which the next run will
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

// end ends the turn unless something is open. One that failed is ended in any
// case.
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
