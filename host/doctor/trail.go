package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/longshore-bridge/longshore/host/audit"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// trail finds what keeps a stopped host from writing the audit trail, without which it does not start.
func (d Doctor) trail(context.Context) []finding.Finding {
	dir := d.Layout.Audit()
	if d.trailElsewhere() {
		return nil
	}
	if audit.Gone(dir, d.Layout.AuditMark()) {
		return []finding.Finding{TrailGone(dir)}
	}
	if safefs.Writable(dir, true) != nil { // usable and state say why
		return nil
	}
	torn, err := audit.Check(dir)
	switch path, _ := errors.AsType[*fs.PathError](err); {
	case path != nil && errors.Is(err, fs.ErrPermission):
		return []finding.Finding{d.unusable(finding.State, "state, "+d.rel(path.Path), path.Path, err)}
	case err != nil:
		return found(finding.State, "state, "+d.rel(dir), finding.Fault, "the audit trail cannot be written: "+err.Error(), "find out who changed that file, and move it away")
	case torn > 0:
		return found(finding.Trail, trailPart, finding.Note, fmt.Sprintf("the audit trail ends with %d bytes of a line that was not written whole", torn), "longshore serve removes them, and notes that in the trail")
	}
	return nil
}

// TrailUnwritten is the finding that a running host cannot write the audit trail, whose entries wait in memory.
func (d Doctor) TrailUnwritten(waiting int, err error) []finding.Finding {
	words := fmt.Sprintf("the audit trail cannot be written (%s in memory): %v", media.Count(waiting, "entry"), err)
	dir := d.Layout.Audit()
	switch remedy := finding.Remedy(err, dir); {
	case errors.Is(err, syscall.EROFS): // usable says so
		return nil
	case remedy == finding.MakeRoom:
		return found(finding.Disk, "disk", finding.Fault, words, remedy)
	default:
		return found(finding.State, "state, "+d.rel(dir), finding.Fault, words, cmp.Or(remedy, "let the host write the files in "+dir)+"; it tries again each second")
	}
}

// trailPart is not a part of the state: a line that was changed keeps no assistant from answering.
const trailPart = "audit trail"

func (d Doctor) trailElsewhere() bool {
	return d.Config != nil && d.Config.Audit.Off || slices.ContainsFunc(d.Stores, store.Spec.OnServer)
}

// chain reads the whole audit trail.
func (d Doctor) chain(ctx context.Context) []finding.Finding {
	if d.trailElsewhere() {
		return nil
	}
	s, err := audit.Verify(ctx, audit.Files(d.Layout.Audit()), "")
	if broken, ok := errors.AsType[*audit.Broken](err); ok {
		return []finding.Finding{TrailBroken(broken, d.Layout.Audit(), s.Entries)}
	}
	return nil // trail says why the files cannot be read
}

// TrailBroken is the finding that the audit trail, whose first lines are whole, was changed at a place.
func TrailBroken(b *audit.Broken, place string, whole int64) finding.Finding {
	if b.Gone {
		return TrailGone(place)
	}
	return finding.Finding{
		Name: finding.Trail, Part: trailPart, Severity: finding.Warning, Cause: "the audit trail is not as it was written: " + b.Error(),
		Remedy: fmt.Sprintf("look at that line in %s, and at who could write there; %d entries before it are whole", place, whole),
	}
}

// TrailGone is the finding that files of the audit trail were deleted.
func TrailGone(place string) finding.Finding {
	return finding.Finding{
		Name: finding.Trail, Part: trailPart, Severity: finding.Warning, Cause: "files of the audit trail in " + place + " are gone, with all that they said",
		Remedy: "find out who deleted them, stop the host, and put them back from a backup; without one, start the host again: it keeps the entries that came since",
	}
}
