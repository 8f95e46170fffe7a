package postgres

import (
	"errors"
	"iter"
)

var errStopped = errors.New("another change of the same transaction has failed")

// beside is a change that runs beside others.
type beside struct {
	step  func() (struct{}, bool) // runs it up to its next question
	stop  func()
	pause func(struct{}) bool // in it: waits for the answer; false: there will be none
	ended bool
	err   error
}

// Together runs changes that do not depend on each other, the first of them numbered first; below
// 0 they are parts of the change that runs now. All questions that they ask at one time are one
// round trip. It returns the change that failed, else -1, and the error. The statements of the
// changes mingle, those of one stay in order.
func (w *Writer) Together(first int, changes []func() error) (failed int, err error) {
	outer := w.pause
	all := make([]*beside, len(changes))
	for i, run := range changes {
		all[i] = w.beside(run)
	}
	defer func() {
		for _, one := range all {
			one.stop()
		}
		w.pause = outer
	}()
	for {
		asks := false
		for i, one := range all {
			if one.ended {
				continue
			}
			if first >= 0 {
				w.Next(first + i)
			}
			if w.pause = one.pause; one.more() {
				asks = true
			} else if one.err != nil {
				return first + i, one.err
			}
		}
		if !asks {
			return -1, nil
		}
		if w.pause = outer; outer != nil && !outer(struct{}{}) {
			return -1, errStopped
		}
		if err := w.answered(outer); err != nil {
			return -1, err
		}
	}
}

// answered sees to it that what waits has its answers, unless those who run the caller beside
// others have done so.
func (w *Writer) answered(outer func(struct{}) bool) error {
	if outer != nil {
		return nil
	}
	return w.flush()
}

// beside makes a change that begins with its first more.
func (w *Writer) beside(run func() error) *beside {
	one := &beside{}
	one.step, one.stop = iter.Pull(func(pause func(struct{}) bool) {
		one.pause, w.pause = pause, pause
		one.err = run()
	})
	return one
}

// more runs the change up to its next question, and reports whether there is one.
func (b *beside) more() bool {
	_, more := b.step()
	b.ended = !more
	return more
}
