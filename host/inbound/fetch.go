package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

const (
	fetchTries = 4                // attempts at a file, over all hosts
	fetchAge   = 24 * time.Hour   // after which there is no further attempt
	fetchTime  = 2 * time.Hour    // for one attempt, however patient its channel is
	maxPending = 100              // files of one group that wait to be fetched
	heldPause  = 30 * time.Second // until a channel is asked again that could not ask its platform
)

// fetchPauses are before the second, third and fourth attempt.
var fetchPauses = []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute}

// What a prompt says about a file that is missing.
const (
	notFetchedYet = "it is still being fetched; a notice will tell when it lies in the inbox, or that it cannot be had"
	NotKept       = "the file is no longer kept"
	tooManyWait   = "too many files of this chat wait to be fetched; ask the member to send it again later"
)

// lane fetches one file at a time; it is not a lane of the outbox. Each group has two of
// these: one for first attempts, which gives up slow files soon, and one for files that need
// more time. So a file that never arrives blocks no other group, and the other files of its
// own group only briefly. A third lane transcribes voice notes.
type lane struct {
	patient     bool
	transcribes bool
	files       []*PendingFile // guarded by Fetcher.mu, as busy
	busy        bool
}

// Add has files fetched whose message is kept already.
func (b *Inbox) Add(wants []*PendingFile) {
	b.f.mu.Lock()
	b.quick.files = append(b.quick.files, wants...)
	b.f.mu.Unlock()
	b.Kick()
}

// Kick starts the group's lanes that have work, while the Fetcher works.
func (b *Inbox) Kick() {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	if b.f.ctx == nil || b.ctx.Err() != nil {
		return
	}
	for _, l := range []*lane{&b.quick, &b.patient, &b.speech} {
		if !l.busy && len(l.files) > 0 {
			l.busy = true
			ctx, cancel := context.WithCancel(b.f.ctx)
			stop := context.AfterFunc(b.ctx, cancel)
			b.f.working.Go(func() {
				defer cancel()
				defer stop()
				b.fetchAll(ctx, l)
			})
		}
	}
}

// Busy reports whether a lane works.
func (b *Inbox) Busy() bool {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return b.quick.busy || b.patient.busy || b.speech.busy
}

// pendingCount counts the files of the group that wait to be fetched.
func (b *Inbox) pendingCount() int {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	return len(b.quick.files) + len(b.patient.files) + len(b.speech.files)
}

// fetchAll works until nothing of the lane is due.
func (b *Inbox) fetchAll(ctx context.Context, l *lane) {
	defer b.of.Idle()
	for {
		w := b.next(ctx, l)
		switch {
		case w == nil:
			return
		case l.transcribes:
			b.transcribe(ctx, w)
		default:
			b.fetch(ctx, w, l.patient)
		}
	}
}

// next takes the first file that is due. If none is due, the lane sleeps until one is.
func (b *Inbox) next(ctx context.Context, l *lane) *PendingFile {
	b.f.mu.Lock()
	defer b.f.mu.Unlock()
	now := time.Now()
	i := slices.IndexFunc(l.files, func(w *PendingFile) bool { return !w.due.After(now) })
	if i >= 0 && ctx.Err() == nil {
		w := l.files[i]
		l.files = slices.Delete(l.files, i, i+1)
		return w
	}
	l.busy = false
	if len(l.files) > 0 && ctx.Err() == nil {
		first := slices.MinFunc(l.files, func(a, b *PendingFile) int { return a.due.Compare(b.due) })
		time.AfterFunc(time.Until(first.due), b.Kick)
	}
	return nil
}

// fetch makes one attempt at a file and decides about the next. The start of an attempt is
// recorded before a byte is requested, so restarts do not add attempts.
func (b *Inbox) fetch(ctx context.Context, w *PendingFile, patient bool) {
	f := w.File
	var also []Change
	stored, size, err := b.attempt(ctx, w, patient)
	held := channel.ClassOf(err) == channel.Held
	switch {
	case err == nil:
		f.Path, f.Size, f.Missing = inboxFile(stored), size, ""
		also = append(also, b.store.noteFetched(w.Ref, stored))
	case ctx.Err() != nil:
		return // the next host goes on
	case b.hopeless(w, err):
		b.f.Log.Warn("member's file not kept", "group", b.group.Folder, "file", f.Name, "attempts", w.Tries, "error", err)
		f.Missing = reason(err)
	case held: // the platform was not asked
		w.Tries--
		b.fetchLater(w, patient, heldPause)
		return
	default:
		b.f.Log.Info("member's file not fetched yet", "group", b.group.Folder, "file", f.Name, "attempt", w.Tries, "error", err)
		b.fetchLater(w, true, fetchPauses[min(w.Tries, len(fetchPauses))-1])
		b.of.FetchFailed(w)
		return
	}
	transcribes := b.toTranscribe(&f)
	if w.File = f; transcribes {
		w.Tries, w.due = 0, time.Time{}
		also = append(also, b.store.Pending(w))
	} else {
		also = append(also, b.store.DropPending(w))
	}
	b.of.FetchEnded(w, transcribes, also...)
	if transcribes {
		b.f.mu.Lock()
		b.speech.files = append(b.speech.files, w)
		b.f.mu.Unlock()
		b.Kick()
	}
}

// errTried is of a file of which earlier hosts have made all attempts.
var errTried = errors.New("no attempt is left")

// errFetch marks the error of an attempt that failed on the platform's side.
var errFetch = errors.New("fetch")

func (b *Inbox) attempt(ctx context.Context, w *PendingFile, patient bool) (stored string, size int64, err error) {
	if w.Tries >= fetchTries {
		return "", 0, fmt.Errorf("%w: %w", errFetch, errTried)
	}
	w.Tries++
	if err := b.store.Do("note attempt", b.store.Pending(w)); err != nil {
		return "", 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	return b.bring(ctx, w.File.Name, w.Ref, patient)
}

// hopeless reports whether another attempt makes no sense after this error.
func (*Inbox) hopeless(w *PendingFile, err error) bool {
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
func (b *Inbox) bring(ctx context.Context, name, ref string, patient bool) (stored string, size int64, err error) {
	from, err := b.f.Channels.Fetch(ctx, b.group.Channel, channel.FileRef{Chat: b.group.Chat, Ref: ref, Patient: patient})
	if err != nil {
		return "", 0, fmt.Errorf("%w: %w", errFetch, err)
	}
	defer from.Close()
	return b.put(name, from)
}

func (b *Inbox) fetchLater(w *PendingFile, patient bool, pause time.Duration) {
	b.f.mu.Lock()
	w.due = time.Now().Add(pause)
	l := &b.quick
	if patient {
		l = &b.patient
	}
	l.files = append(l.files, w)
	b.f.mu.Unlock()
	b.Kick()
}
