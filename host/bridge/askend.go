package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
)

// quotable is for how long every channel can quote a message of ours.
const quotable = 24 * time.Hour

// end records how an Ask ends, and by whom. The trail has it before whoever waits hears of it.
// The errors are those of [outbox.Outbox.Answer].
func (b *Bridge) end(ctx context.Context, a *records.Ask, what, by string) error {
	if err := b.Outbox.Answer(ctx, a, what, by); err != nil {
		return err
	}
	a.Answer, a.By, a.Time = what, by, time.Now()
	if err := b.auditAsk(ctx, a); err != nil {
		b.Log.Error("an answer is missing in the trail until the next start", "group", a.Folder, "error", err)
	}
	b.mu.Lock()
	close(b.news)
	b.news = make(chan struct{})
	b.mu.Unlock()
	if err := b.showEnd(ctx, a); err != nil { // watchAsks tries again
		b.Log.Warn("a chat was not told how its question ended", "group", a.Folder, "error", err)
	}
	return nil
}

// showEnd shows how an Ask ended in the chat that was asked: its poll is closed if the channel can
// do so, and the approvers read it.
func (b *Bridge) showEnd(ctx context.Context, a *records.Ask) error {
	if _, down := channel.Named(b.Channels, a.Shown.Chat.Channel).(channel.StandIn); down { // watchAsks shows it when the channel is back
		return nil
	}
	ends, err := b.ends(ctx, a)
	if err == nil && len(ends) > 0 {
		err = b.put(ctx, ends...)
	}
	if err != nil || a.Shown.State.Open() { // a poll that is on its way is closed later
		return err
	}
	a.Told = true
	return b.Outbox.SaveAsk(ctx, a)
}

// ends returns the deliveries that show how an Ask ended. No rule has them wait: the host says
// what became of the chat's own question.
func (b *Bridge) ends(ctx context.Context, a *records.Ask) (all []judged, err error) {
	s, p := &a.Shown, policies[a.Policy]
	ch := channel.Named(b.Channels, s.Chat.Channel)
	if ch == nil || !s.State.Sent() && !s.State.Open() {
		return nil, nil
	}
	words := p.ends[a.Answer]
	if p.everybody {
		answers, err := b.Outbox.Reader().Answers(ctx, a.Key)
		if err != nil {
			return nil, err
		}
		words = s.Question.Outcome(answers)
	}
	add := func(key string, parts ...records.Part) {
		all = append(all, judged{records.Delivery{
			Key: hostKey(s.Folder, key+a.ID), Folder: s.Folder, Channel: s.Chat.Channel, Chat: s.Chat.JID, Thread: s.Thread, Parts: parts,
		}})
	}
	if s.State.Sent() && !s.Question.Numbered && outbox.Can(ch, records.VerbEndPoll) {
		add("close ", records.Part{Text: words, Act: &records.Act{Verb: records.VerbEndPoll, Target: s.ID, Sent: s.Time}})
	}
	if parts := texts(words, ch.Limits()); !p.everybody && len(parts) > 0 {
		parts[0].Host = true
		if s.ID != "" && time.Since(s.Time) < quotable {
			parts[0].ReplyTo = s.ID
		}
		add("end ", parts...)
	}
	return all, nil
}

// watchAsks asks the approvers, ends what nobody has answered in time, and shows the ends that are
// not shown yet, until ctx is done.
func (b *Bridge) watchAsks(ctx context.Context) {
	for {
		next, err := b.dueAsks(ctx)
		if err != nil && ctx.Err() == nil {
			b.Log.Error("people were not asked, or not told how it ended; tried again in a minute; the operator can answer approvals", "error", err)
			next = time.Now().Add(time.Minute)
		}
		var due <-chan time.Time
		if !next.IsZero() { // a clock that was set back is noticed within a minute
			due = time.After(min(max(time.Until(next), 0), time.Minute))
		}
		select {
		case <-ctx.Done():
			return
		case <-b.Outbox.Asking():
		case <-due:
		}
	}
}

// dueAsks returns when to look again; zero if nothing is open.
func (b *Bridge) dueAsks(ctx context.Context) (next time.Time, err error) {
	now := time.Now()
	due, err := b.Outbox.Reader().DueAsks(ctx, now, b.Approvers() != "")
	for i := range due {
		a := &due[i]
		switch {
		case a.Answer != "":
			err = errors.Join(err, b.showEnd(ctx, a))
		case a.Open(now): // nobody sees it
			err = errors.Join(err, b.askApprovers(ctx, a))
		case b.mayComeBack(a, now):
			err = errors.Join(err, b.heed(ctx, a, b.began))
		default:
			err = errors.Join(err, b.endLate(ctx, a, now))
		}
	}
	if len(due) > 0 || err != nil {
		return now.Add(time.Minute), err
	}
	return b.Outbox.Reader().NextExpiry(ctx)
}

// mayComeBack reports whether a host has only just begun to listen to whoever asks, who may outlive one.
func (b *Bridge) mayComeBack(a *records.Ask, now time.Time) bool {
	p := policies[a.Policy]
	return now.Before(b.began.Add(p.heed)) && now.Before(a.Made.Add(p.within))
}

// heed notes that whoever asks waited for the answer at a time, unless it would move the end by little.
func (b *Bridge) heed(ctx context.Context, a *records.Ask, at time.Time) error {
	p := policies[a.Policy]
	until, end := at.Add(p.heed), a.Made.Add(p.within)
	if end.Before(until) {
		until = end
	}
	if more := until.Sub(a.Expires); more <= 0 || more < p.heed/8 && until.Before(end) {
		return nil
	}
	a.Expires = until
	return b.Outbox.SaveAsk(ctx, a)
}

// endLate ends what has expired.
func (b *Bridge) endLate(ctx context.Context, a *records.Ask, now time.Time) error {
	what := records.AnswerNone
	if p := policies[a.Policy]; now.Before(a.Made.Add(p.within)) && p.heed > 0 {
		what = records.AnswerGone
	}
	if err := b.end(ctx, a, what, ""); !errors.Is(err, records.ErrDecided) && !errors.Is(err, records.ErrNotFound) {
		return err
	}
	return nil
}
