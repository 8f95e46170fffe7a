package outbox

import (
	"slices"
	"sync"
	"time"
)

// maxOutcomes is how many outcomes may wait to be recorded before nothing new
// is sent. It is met when the disk takes no more.
const maxOutcomes = 1024

// settler collects outcomes, so that one commit records many.
type settler struct {
	wake chan struct{}

	mu    sync.Mutex
	queue []outcome
}

// outcome is what is to be recorded of one attempt.
type outcome struct {
	ln      *lane
	it      *item
	pos     int
	part    Part
	blob    string // what it had of bytes
	applied bool   // recorded as settled: an operator did not drop it meanwhile
}

func (s *settler) add(out outcome) {
	s.mu.Lock()
	s.queue = append(s.queue, out)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *settler) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

func (s *settler) take() []outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue)
}

func (s *settler) drop(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.Delete(s.queue, 0, n)
}

// settleAll records outcomes until stop is closed and none is left. While the
// disk takes nothing they are kept and tried again; at the end they are tried
// once more, and what then is not recorded is sent again, or asked about,
// after the next start.
func (o *Outbox) settleAll(stop <-chan struct{}) {
	tries := 0
	for {
		batch := o.settler.take()
		if len(batch) > 0 {
			if err := o.settle(batch); err != nil {
				tries++
				o.opts.Log.Error("record outcomes", "error", err)
				select {
				case <-stop:
					return
				case <-time.After(min(o.opts.Backoff.after(tries), 10*time.Second)):
				}
				continue
			}
			tries = 0
			o.settler.drop(len(batch))
			o.poke()
			continue
		}
		select {
		case <-stop:
			if o.settler.len() == 0 {
				return
			}
		case <-o.settler.wake:
		}
	}
}

// settle records a batch and then tells of it.
func (o *Outbox) settle(batch []outcome) error {
	err := o.commit.do(func(t *tx) error {
		now := time.Now()
		for i := range batch {
			out := &batch[i]
			if out.part.State == Sent {
				out.part = out.part.withoutBlob()
				out.part.State = o.early.state(out.it.Chat, out.part.Receipt.ID)
			}
			var err error
			if out.applied, err = update(t, out.it.id, out.pos, &out.part, now); err != nil {
				return err
			}
		}
		return nil
	}, func() { o.applied(batch) })
	if err != nil {
		return err
	}
	var spent []string
	over := map[string]bool{}
	for i := range batch {
		out := &batch[i]
		if out.applied {
			o.opts.Trace(out.it.Folder, out.it.Request, "settled")
			if out.part.blob() == "" && out.blob != "" {
				spent = append(spent, out.blob)
			} else if out.blob != "" {
				over[out.it.Folder] = true
			}
		}
		o.notify(out.it)
	}
	o.removeBlobs(spent)
	for folder := range over {
		o.evict(folder)
	}
	return nil
}

// applied brings memory in line with what was just recorded.
func (o *Outbox) applied(batch []outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range batch {
		out := &batch[i]
		out.blob = out.it.Parts[out.pos].blob()
		if out.applied {
			o.charge(out.it.Folder, &out.part, -1)
			out.it.Parts[out.pos] = out.part
			o.count(&out.part)
			o.early.forget(out.it.Chat, out.part.Receipt.ID)
			if out.part.blob() != "" {
				o.retain(out.it.Folder, out.part.size(), 1)
			}
		}
		out.ln.unsettled--
		if out.ln.state == idle {
			o.ready(out.ln)
		}
	}
}

func (o *Outbox) count(p *Part) {
	switch p.State {
	case Failed:
		o.counters.failed.Add(1)
	case Uncertain:
		o.counters.uncertain.Add(1)
	default:
		o.counters.sent.Add(1)
	}
}

// notify tells how a delivery stands. It does not change while it is told,
// and once all of it is settled it leaves the memory.
func (o *Outbox) notify(it *item) {
	o.notifyMu.Lock()
	defer o.notifyMu.Unlock()
	o.mu.Lock()
	d := it.clone()
	o.mu.Unlock()
	o.opts.OnUpdate(d)
	o.mu.Lock()
	if o.live[it.id] == it && !it.Open() {
		delete(o.live, it.id)
	}
	o.mu.Unlock()
}
