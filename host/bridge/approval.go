package bridge

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge/report"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// judged is a delivery that the policy has judged. The outbox gets no other: judge makes
// them, and SendFor for the operator, who needs nobody's approval.
type judged struct{ records.Delivery }

// judge makes a delivery wait for an approval if a rule requires one. It is called after
// the files were copied, so the bytes that are approved are those that are sent. ahead is
// what was accepted of the group and is not recorded yet.
func (b *Bridge) judge(ctx context.Context, dst destination, d records.Delivery, ahead outbox.Load) (judged, error) {
	rule, err := b.ruleFor(ctx, dst, &d)
	if rule == "" || err != nil {
		return judged{d}, err
	}
	d.Approval = &records.Ask{Rule: rule, Expires: d.Created.Add(dst.source.Approve.Time())}
	for _, p := range d.Parts {
		if q := p.Question; q != nil && q.Until.Before(d.Approval.Expires) {
			d.Approval.Expires = q.Until
		}
	}
	return judged{d}, b.Outbox.RoomToWait(d.Folder, ahead, addLoad(outbox.Load{}, &d))
}

// addLoad adds to l what a delivery takes of its group's room.
func addLoad(l outbox.Load, d *records.Delivery) outbox.Load {
	for i := range d.Parts {
		p := &d.Parts[i]
		if p.Link != nil {
			l.Links += p.Link.File.Size
		}
		if p.Question != nil {
			l.Questions++
		}
		if d.Approval != nil {
			l.Waiting++
			l.WaitingBytes += p.Size()
		} else {
			l.Parts++
			l.Bytes += p.Size()
		}
	}
	return l
}

// ruleFor returns the rule because of which a delivery waits, else empty.
func (b *Bridge) ruleFor(ctx context.Context, dst destination, d *records.Delivery) (string, error) {
	if *dst.asked != "" {
		return "screen.ask " + *dst.asked, nil
	}
	if d.Removes() {
		return "", nil
	}
	files := d.AllFiles()
	exits := make([]groups.Exit, 1, len(files)+1) // the words
	for i := range files {
		exits = append(exits, groups.Exit{File: &files[i].Info})
	}
	for _, e := range exits {
		e.To = dst.address()
		if rule, err := dst.source.Judge(e, dst.now); rule != "" || err != nil {
			return rule, err
		}
	}
	if !dst.source.Approve.First || len(files) == 0 {
		return "", nil
	}
	if sent, err := b.Outbox.Reader().SentFile(ctx, d.Folder); sent || err != nil {
		return "", err
	}
	return "approve.first", nil
}

// Decide answers the approval that a delivery waits for, in the name of by: "operator", or
// the id of a member. name is as for [outbox.Outbox.Get]. A yes is refused if the group may
// no longer use that chat, such files or that action. The other errors are those of
// [outbox.Outbox.Answer].
func (b *Bridge) Decide(ctx context.Context, name string, yes bool, by string) error {
	a, err := b.Outbox.Approval(ctx, name)
	if err != nil {
		return err
	}
	return b.decide(ctx, a, yes, by)
}

// mayStill returns why a delivery that waits for an approval may not be sent any more; nil: it may.
func (b *Bridge) mayStill(ctx context.Context, key string) error {
	d, err := b.Outbox.Get(ctx, key)
	if err != nil {
		return err
	}
	err = b.mayGo(ctx, &d)
	if now, lost := b.Outbox.Get(ctx, key); err != nil && lost == nil && !now.Waits() {
		return records.ErrDecided // a no came first, and its bytes are gone
	}
	return err
}

// mayGo returns why a delivery that waited may not be sent any more; nil: it may.
func (b *Bridge) mayGo(ctx context.Context, d *records.Delivery) error {
	dst, err := b.authorize(d.Folder, ipc.Request{Chat: d.Channel + "/" + string(d.Chat)})
	if err != nil {
		return err
	}
	if err := dst.stillAllows(d.Parts); err != nil {
		return err
	}
	for _, p := range d.Parts {
		for _, f := range p.Files {
			err := b.mayFile(dst, f, func(read func(io.ReaderAt) error) error {
				return b.Outbox.Kept(ctx, outbox.Blob{Name: f.Blob, SHA256: f.SHA256, Size: f.Size}, read)
			})
			if err != nil {
				return err
			}
		}
		if l := p.Link; l != nil {
			err := b.mayFile(dst, l.File, func(read func(io.ReaderAt) error) error { return b.Outbox.KeptLink(ctx, l.ID, read) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// mayFile returns why a file may not be sent any more; nil: it may. open passes its bytes on.
func (b *Bridge) mayFile(dst destination, f records.File, open func(read func(io.ReaderAt) error) error) error {
	if err := dst.permit(f.Info); err != nil {
		return err
	}
	err := open(func(r io.ReaderAt) error { return dst.screen.Check(r, f.Size, append(f.Names, f.Name)...) })
	if errors.Is(err, fs.ErrNotExist) {
		return records.ErrNoBytes
	}
	return err
}

// askApprovers asks the approvers' chat about a delivery that waits for an approval.
func (b *Bridge) askApprovers(ctx context.Context, a *records.Ask) error {
	d, err := b.Outbox.Get(ctx, a.Key)
	if err != nil {
		return err
	}
	dst, err := b.authorize(b.Approvers(), ipc.Request{})
	if err != nil {
		return err
	}
	ask := ownDelivery(b.Approvers(), dst, "ask "+a.ID)
	ask.Parts = showAsk(report.Approval(&d, a.Rule), a, dst.limits)
	return b.judgeAndPut(ctx, dst, ask)
}
