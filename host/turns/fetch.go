package turns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	filePatience = 15 * time.Second // for which a message waits for the first attempt at its files
	fetchTries   = 4                // attempts at a file, over all hosts
	fetchAge     = 24 * time.Hour   // after which there is no further attempt
	fetchTime    = 2 * time.Hour    // for one attempt, however patient its channel is
	maxPending   = 100              // files of one group that wait to be fetched
	heldPause    = 30 * time.Second // until a channel is asked again that could not ask its platform
)

// fetchPauses are before the second, third and fourth attempt.
var fetchPauses = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute}

// What a prompt says about a file that is missing.
const (
	notFetchedYet = "it is still being fetched; a notice will tell when it lies in the inbox, or that it cannot be had"
	notKept       = "the file is no longer kept"
	tooManyWait   = "too many files of this chat wait to be fetched; ask the member to send it again later"
)

// lane fetches one file at a time. Each group has two: one for first attempts, which gives
// up slow files soon, and one for files that need more time. So a file that never arrives
// blocks no other group, and the other files of its own group only briefly. A third lane
// transcribes voice notes.
type lane struct {
	patient     bool
	transcribes bool
	files       []*pendingFile // guarded by Manager.mu, as busy
	busy        bool
}

// expect takes wants whose message is kept, and makes r wait for the first attempts at
// them.
func (m *Manager) expect(c *chat, wants []*pendingFile) {
	if len(wants) == 0 {
		return
	}
	m.mu.Lock()
	c.quick.files = append(c.quick.files, wants...)
	m.mu.Unlock()
	time.AfterFunc(filePatience, func() { m.recheck(c) })
	m.kick(c)
}

// recheck checks which of a group's messages may be handed over.
func (m *Manager) recheck(c *chat) {
	m.mu.Lock()
	for _, t := range m.all {
		if t.chat == c && t.phase == running {
			signal(t.nudge)
		}
	}
	m.mu.Unlock()
	signal(m.wake)
}

// kick starts the group's lanes that have work, while Run runs.
func (m *Manager) kick(c *chat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fetchCtx == nil || c.left() {
		return
	}
	for _, l := range []*lane{&c.quick, &c.patient, &c.speech} {
		if !l.busy && len(l.files) > 0 {
			l.busy = true
			ctx, cancel := c.within(m.fetchCtx)
			m.fetching.Go(func() {
				defer cancel()
				m.fetchAll(ctx, c, l)
			})
		}
	}
}

// startFetching lets the lanes work until ctx is done. The returned function waits for
// them.
func (m *Manager) startFetching(ctx context.Context) (stop func()) {
	m.mu.Lock()
	m.fetchCtx = ctx
	m.mu.Unlock()
	return func() {
		m.mu.Lock()
		m.fetchCtx = nil
		m.mu.Unlock()
		m.fetching.Wait()
	}
}

// fetchAll works until nothing of the lane is due.
func (m *Manager) fetchAll(ctx context.Context, c *chat, l *lane) {
	for {
		w := m.nextPending(ctx, c, l)
		if w == nil {
			return
		}
		if l.transcribes {
			m.transcribe(ctx, c, w)
		} else {
			m.fetch(ctx, c, w, l.patient)
		}
	}
}

// nextPending takes the first want that is due. If none is due, the lane sleeps until one is.
func (m *Manager) nextPending(ctx context.Context, c *chat, l *lane) *pendingFile {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	i := slices.IndexFunc(l.files, func(w *pendingFile) bool { return !w.due.After(now) })
	if i >= 0 && ctx.Err() == nil {
		w := l.files[i]
		l.files = slices.Delete(l.files, i, i+1)
		return w
	}
	l.busy = false
	m.forgetLeft(c)
	if len(l.files) > 0 && ctx.Err() == nil {
		first := slices.MinFunc(l.files, func(a, b *pendingFile) int { return a.due.Compare(b.due) })
		time.AfterFunc(time.Until(first.due), func() { m.kick(c) })
	}
	return nil
}

// fetch makes one attempt at a file and decides about the next. The start of an attempt is
// recorded before a byte is requested, so restarts do not add attempts.
func (m *Manager) fetch(ctx context.Context, c *chat, w *pendingFile, patient bool) {
	f := w.File
	var also []change
	stored, size, err := m.attempt(ctx, c, w, patient)
	held := channel.ClassOf(err) == channel.Held
	switch {
	case err == nil:
		f.Path, f.Size, f.Missing = inboxFile(stored), size, ""
		also = append(also, c.store.noteFetched(w.Ref, stored))
	case ctx.Err() != nil:
		return // the next host goes on
	case m.hopeless(w, err):
		m.o.Log.Warn("member's file not kept", "group", c.group.Folder, "file", f.Name, "attempts", w.Tries, "error", err)
		f.Missing = reason(err)
	case held: // the platform was not asked
		w.Tries--
		m.fetchLater(c, w, patient, heldPause)
		return
	default:
		m.o.Log.Info("member's file not fetched yet", "group", c.group.Folder, "file", f.Name, "attempt", w.Tries, "error", err)
		m.fetchLater(c, w, true, fetchPauses[min(w.Tries, len(fetchPauses))-1])
		m.waited(c, w)
		return
	}
	m.fetched(c, w, f, also...)
}

// errTried ends a want if earlier hosts have made all its attempts.
var errTried = errors.New("no attempt is left")

// errFetch marks the error of an attempt that failed on the platform's side.
var errFetch = errors.New("fetch")

func (m *Manager) attempt(ctx context.Context, c *chat, w *pendingFile, patient bool) (stored string, size int64, err error) {
	if w.Tries >= fetchTries {
		return "", 0, fmt.Errorf("%w: %w", errFetch, errTried)
	}
	w.Tries++
	if err := c.store.do("note attempt", c.store.pending(w)); err != nil {
		return "", 0, err
	}
	return m.bring(ctx, c, w, patient)
}

// hopeless reports whether another attempt makes no sense after this error.
func (m *Manager) hopeless(w *pendingFile, err error) bool {
	var final missing
	if time.Since(w.Kept) >= fetchAge {
		return true
	}
	switch channel.ClassOf(err) {
	case channel.Permanent:
		return true
	case channel.Held:
		return false
	}
	return w.Tries >= fetchTries || errors.As(err, &final)
}

// bring fetches the bytes and then copies them into the inbox. It takes no lock before the
// bytes are on this host.
func (m *Manager) bring(ctx context.Context, c *chat, w *pendingFile, patient bool) (stored string, size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	from, err := m.o.Platforms.Fetch(ctx, c.group.Channel, channel.FileRef{Chat: c.group.Chat, Ref: w.Ref, Patient: patient})
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", errFetch, err)
	}
	defer from.Close()
	return m.store(c, w.File.Name, from)
}

func (m *Manager) fetchLater(c *chat, w *pendingFile, patient bool, pause time.Duration) {
	m.mu.Lock()
	w.due = time.Now().Add(pause)
	l := &c.quick
	if patient {
		l = &c.patient
	}
	l.files = append(l.files, w)
	m.mu.Unlock()
	m.kick(c)
}

// waited ends a message's wait for the first attempt at a file.
func (m *Manager) waited(c *chat, w *pendingFile) {
	m.mu.Lock()
	if r := m.find(c, w); r != nil {
		delete(r.waits, w.Index)
	}
	m.mu.Unlock()
	m.recheck(c)
}

// fetched ends a want: its file is in the inbox, or will never be. A message that is not
// handed over yet contains the result. Otherwise the assistant gets a notice. The notice
// reaches a running assistant at once if the message had called it, and starts none.
func (m *Manager) fetched(c *chat, w *pendingFile, f file, also ...change) {
	c.updating.Lock()
	defer c.updating.Unlock()
	transcribes := m.toTranscribe(c, &f)
	m.mu.Lock()
	r := m.find(c, w)
	quiet := !w.Call && (w.of == nil || !w.of.calls()) // its burst may have called the assistant
	var changed record
	if r != nil {
		if !transcribes {
			delete(r.waits, w.Index)
		}
		r.Files = slices.Clone(r.Files)
		r.Files[w.Index] = f
		changed = *r
	}
	m.mu.Unlock()
	var notice *record
	if r == nil || changed.read() {
		notice = &record{Key: key("file", w.Message, fmt.Sprint(w.Index)), Kind: noticeKind, Thread: w.Thread, Quiet: quiet, Text: news(w, f, c.fetches()), Time: time.Now()}
		if c.fetches() {
			notice.Files = []file{f} // which it fetches by the notice
		}
	}
	if w.File = f; transcribes {
		w.Tries, w.due = 0, time.Time{}
		also = append(also, c.store.pending(w))
	} else {
		also = append(also, c.store.dropPending(w))
	}
	if err := m.recordFile(c, r, &changed, notice, also...); err != nil {
		m.o.Log.Error("member's file not noted", "group", c.group.Folder, "file", f.Name, "error", err)
	}
	if transcribes {
		m.transcribeLater(c, w)
	}
	m.recheck(c)
}

// recordFile makes durable what became of a file: in its message, unless r is nil, and in a
// notice, unless that is nil.
func (m *Manager) recordFile(c *chat, r, changed, notice *record, also ...change) error {
	if r != nil {
		also = append(also, c.store.updating(changed))
	}
	if notice != nil {
		return m.keep(c, notice, also...)
	}
	return m.finish(c, nil, also...)
}

// news is the text of a notice about a file whose message was handed over before.
func news(w *pendingFile, f file, elsewhere bool) string {
	of := fmt.Sprintf("the file %q of message %s from %q", f.Name, w.ID, w.From)
	if f.Quoted {
		of = fmt.Sprintf("the file %q that message %s from %q answers", f.Name, w.ID, w.From)
	}
	if f.Missing != "" {
		return of + " cannot be had: " + f.Missing
	}
	if elsewhere {
		return of + " can be fetched now, as the file of this notice"
	}
	return of + " now lies in the inbox: " + f.Path
}

// find returns the record of a want, if it is not handed over yet.
func (m *Manager) find(c *chat, w *pendingFile) *record {
	if t := m.in(c, w.Thread); t != nil {
		for _, r := range t.kept {
			if r.Key == w.Message {
				return r
			}
		}
	}
	return nil
}
