package state

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/internal/wake"
)

const (
	reachEvery = 15 * time.Second
	reachTime  = 10 * time.Second // for one look
	openTime   = 2 * time.Second  // for the look of a start: a host that takes over serves without its files, too
	dueEvery   = 5 * time.Minute
	dueAtOnce  = 100 // blobs that one step deletes
	mostPause  = time.Hour
)

// keepPlace looks whether the place of the files is there, until ctx is done. If it is, it sweeps it
// once, and deletes at intervals what is due: for the first time after an hour, since the clock of the
// host that has noted it may be another.
func (d *DB) keepPlace(ctx context.Context, log *slog.Logger) {
	due := time.Now().Add(blob.KeepGone)
	sweep, pause := time.Now(), reachEvery // 0: it is swept
	for ok := true; ok; ok = wake.Sleep(ctx, reachEvery) {
		if d.reach(ctx) != nil {
			continue // which is a finding
		}
		if pause > 0 && !time.Now().Before(sweep) {
			if err := d.sweepPlace(ctx, log); err == nil {
				pause = 0
			} else if ctx.Err() == nil {
				pause = min(2*pause, mostPause)
				sweep = time.Now().Add(pause)
				log.Warn("the place of the files was not swept; it is tried again", "after", pause.String(), "error", err)
			}
		}
		if !time.Now().Before(due) {
			if err := d.deleteDue(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, blob.ErrHeld) {
				log.Warn("files that no record names were not deleted; it is tried again", "error", err)
			}
			due = time.Now().Add(dueEvery)
		}
	}
}

// wordsOf returns what the operator reads of trouble with the place.
func wordsOf(err error) string {
	if t, ok := errors.AsType[*blob.Trouble](err); ok {
		return t.Cause + "; to do: " + t.Remedy
	}
	return err.Error()
}

// reach looks whether the place is there and has this database's mark. A database that has no mark
// yet takes the place.
func (d *DB) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if d.mark == "" {
		mark, err := d.placeMark(ctx)
		if err != nil {
			return d.Blobs.Unreached(err)
		}
		d.mark = mark
	}
	return d.Blobs.Reach(ctx, d.mark)
}

func (d *DB) placeMark(ctx context.Context) (mark string, err error) {
	err = d.Do(ctx, func(t *Tx) (err error) {
		mark, err = blob.ReadMark(t)
		return err
	}, nil)
	if err != nil || mark != "" {
		return mark, err
	}
	known, err := d.names(ctx, namedBlobs)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(known)), blob.IsName) {
		return "", &blob.Trouble{Cause: "the files of this state lie in its own directory, and state.files names another place",
			Remedy: "take state.files out again; or move the state with its files: docs/operations.md"}
	}
	if err := d.Do(ctx, func(t *Tx) (err error) { mark, err = d.Blobs.NewMark(t); return err }, nil); err != nil {
		return "", err
	}
	if err := d.Blobs.Claim(ctx, mark); err != nil {
		return "", err
	}
	return mark, d.Do(ctx, func(t *Tx) error { return blob.WriteMark(t, mark) }, nil)
}

// sweepPlace notes the blobs in the place that no record names, so that they are deleted after a week,
// and those that are missing. It lists before it reads the names: what is recorded meanwhile has a name.
func (d *DB) sweepPlace(ctx context.Context, log *slog.Logger) error {
	there, foreign, err := d.Blobs.List(ctx)
	if err != nil {
		return err
	}
	known, err := d.names(ctx, namedBlobs)
	if err != nil {
		return err
	}
	found := make(map[string]bool, len(there))
	var strange []string
	for _, name := range there {
		if found[name] = true; !known[name] {
			strange = append(strange, name)
		}
	}
	noted := 0
	for some := range slices.Chunk(strange, dueAtOnce) {
		var n int
		if err := d.Do(ctx, func(t *Tx) (err error) {
			n, err = blob.NoteStrange(t, some)
			return err
		}, nil); err != nil {
			return err
		}
		noted += n
	}
	missing := d.Blobs.Swept(known, found)
	if foreign > 0 {
		log.Warn("files that the host did not make lie in the place of its files; they stay there", "files", foreign)
	}
	if noted > 0 {
		log.Warn("files that no record names lie in the place of the files; they are deleted later", "files", noted, "after", blob.KeepStrange.String())
	}
	if len(missing) > 0 {
		log.Error("files of the state are missing", "count", len(missing), "such as", strings.Join(missing[:1], ""))
	}
	return nil
}

// deleteDue deletes the blobs whose records went long enough ago. Each step begins with a commit, which
// a host that has lost its lease cannot make.
func (d *DB) deleteDue(ctx context.Context) error {
	for {
		var due []string
		err := d.Do(ctx, func(t *Tx) (err error) {
			due, err = blob.Due(t, dueAtOnce)
			return err
		}, nil)
		if err != nil || len(due) == 0 {
			return err
		}
		if err := d.Blobs.Destroy(ctx, due); err != nil {
			return err
		}
		if err := d.Do(ctx, func(t *Tx) error { return blob.Forget(t, due) }, nil); err != nil {
			return err
		}
	}
}
