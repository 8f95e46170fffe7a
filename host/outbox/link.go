package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/media"
)

// Link is the address of a file that is too large for its chat; members fetch the file
// from the host. The link's row and the delivery whose text has the address are recorded
// in one commit. The bytes outlive the delivery: they stay until Expires, or until
// EndLinks.
type Link struct {
	ID      string    // 32 lower-case hex digits
	Expires time.Time // in whole seconds
	File    File      // File.Blob names the bytes; it may be empty in a Part that was read from the records
}

// KeptLink is a link whose bytes are kept.
type KeptLink struct {
	Link
	Folder  string
	Channel string
	Chat    string
	Made    time.Time
}

// storedLink is the JSON of a Link in the part table.
type storedLink struct {
	ID      string     `json:"id"`
	Expires int64      `json:"expires"` // Unix seconds
	File    storedFile `json:"file"`
}

func (l *Link) stored() *storedLink {
	if l == nil {
		return nil
	}
	return &storedLink{l.ID, l.Expires.Unix(), storedFile{l.File.Info, l.File.SHA256, l.File.Names}}
}

func (s *storedLink) link() *Link {
	if s == nil {
		return nil
	}
	return &Link{ID: s.ID, Expires: time.Unix(s.Expires, 0), File: File{Info: s.File.Info, SHA256: s.File.SHA256, Names: s.File.Names}}
}

// RoomForLink returns nil if a group may keep size more bytes for a link, a *FullError if
// the disk is too full, or a *LinkQuotaError. ahead is the bytes of links that the caller
// has accepted and not yet passed to Put; quota is the group's limit. All are bytes.
func (o *Outbox) RoomForLink(ctx context.Context, folder string, ahead, size, quota int64) error {
	var used int64
	err := o.state.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM link WHERE folder = ? AND ended = 0`, folder).Scan(&used)
	if err != nil {
		return ofDatabase("count links", err)
	}
	if used+ahead+size > quota {
		return &LinkQuotaError{Used: used + ahead, Quota: quota}
	}
	return o.accepting(size)
}

// LinksUsed returns the bytes of the files behind each group's links, by folder.
func (o *Outbox) LinksUsed(ctx context.Context) (map[string]int64, error) {
	used := map[string]int64{}
	rows, err := o.state.QueryContext(ctx, `SELECT folder, sum(size) FROM link WHERE ended = 0 GROUP BY folder`)
	err = each(rows, err, func() error {
		var folder string
		var size int64
		err := rows.Scan(&folder, &size)
		used[folder] = size
		return err
	})
	return used, ofDatabase("count links", err)
}

// ErrNoLink says that a link does not exist, has expired, or was revoked.
var ErrNoLink = errors.New("there is no such link")

// LinkQuotaError says that a group's links have reached the group's limit. It passes when
// a link expires or is revoked.
type LinkQuotaError struct{ Used, Quota int64 } // bytes

func (e *LinkQuotaError) Error() string {
	return fmt.Sprintf("the files behind this group's links have %s, at most %s may be kept", media.Size(e.Used), media.Size(e.Quota))
}

// insertLink records the link of a delivery's part.
func insertLink(t *state.Tx, d *Delivery, l *Link) error {
	file, err := json.Marshal(l.stored().File)
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, d.Key, d.Folder, d.Channel, string(d.Chat), string(file), l.File.Size, l.File.Blob, nano(d.Created), nano(l.Expires))
	return ofDatabase("record a link", err)
}

// unlink ends the link of a message that is about to be deleted, even if the platform then
// refuses the deletion. The next sweep deletes the file.
func unlink(t *state.Tx, chat groups.Address, message string) error {
	rows, err := t.Query(`SELECT p.act FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.receipt = ? AND p.receipt <> '' AND d.channel = ? AND d.chat = ? AND p.act LIKE '{"link"%'`, message, chat.Channel, string(chat.JID))
	var ids []string
	err = each(rows, err, func() error {
		var act string
		var one struct{ Link storedLink }
		if err := rows.Scan(&act); err != nil {
			return err
		}
		err := json.Unmarshal([]byte(act), &one)
		ids = append(ids, one.Link.ID)
		return err
	})
	for i := 0; err == nil && i < len(ids); i++ {
		_, err = t.Exec(`UPDATE link SET expires = 0 WHERE id = ?`, ids[i])
	}
	return ofDatabase("end a link", err)
}

const selectLinks = `SELECT id, folder, channel, chat, file, blob, made, expires FROM link WHERE ended = 0 `

func scanLinks(rows *sql.Rows, err error) (all []KeptLink, _ error) {
	err = each(rows, err, func() error {
		var l KeptLink
		var file string
		var made, expires int64
		if err := rows.Scan(&l.ID, &l.Folder, &l.Channel, &l.Chat, &file, &l.File.Blob, &made, &expires); err != nil {
			return err
		}
		var s storedFile
		err := json.Unmarshal([]byte(file), &s)
		l.File.Info, l.File.SHA256, l.Made, l.Expires = s.Info, s.SHA256, fromNano(made), fromNano(expires)
		all = append(all, l)
		return err
	})
	return all, ofDatabase("read links", err)
}

// Links returns the links of a group, or of all if folder is empty, that have not expired,
// the oldest first.
func (o *Outbox) Links(ctx context.Context, folder string) ([]KeptLink, error) {
	return scanLinks(o.state.QueryContext(ctx, selectLinks+`AND expires > ?1 AND (?2 = '' OR folder = ?2) ORDER BY made, id`, nano(time.Now()), folder))
}

// notApproved is the condition of a link whose delivery has no yes that it needs, for SQL.
const notApproved = `EXISTS (SELECT 1 FROM delivery d JOIN approval a ON a.delivery = d.id WHERE d.key = link.key AND a.answer <> 'yes')`

// OpenLink opens the file behind a link; the caller closes it. ErrNoLink: there is no such
// link, its delivery waits for an approval, it has expired, or it was revoked.
func (o *Outbox) OpenLink(ctx context.Context, id string) (Link, io.ReadSeekCloser, error) {
	return o.openLink(ctx, id, ` AND NOT `+notApproved)
}

// KeptLink calls read with the bytes of the file behind a link, whose delivery may wait for
// an approval. ErrNoBytes: the link has expired, or was revoked.
func (o *Outbox) KeptLink(ctx context.Context, id string, read func(io.ReaderAt) error) error {
	_, f, err := o.openLink(ctx, id, "")
	if errors.Is(err, ErrNoLink) {
		return ErrNoBytes
	}
	if err != nil {
		return err
	}
	return readAt(f, read)
}

// openLink opens the file behind a link for which a condition holds.
func (o *Outbox) openLink(ctx context.Context, id, and string) (Link, io.ReadSeekCloser, error) {
	found, err := scanLinks(o.state.QueryContext(ctx, selectLinks+`AND id = ? AND expires > ?`+and, id, nano(time.Now())))
	if err == nil && len(found) == 0 {
		err = ErrNoLink
	}
	if err != nil {
		return Link{}, nil, err
	}
	f, err := o.state.Blobs.Open(found[0].File.Blob)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoLink // ended at this moment
	}
	return found[0].Link, f, err
}

// EndLink ends a link before its time, and deletes its file. A download under way goes on.
// ErrNoLink: there is no such link any more.
func (o *Outbox) EndLink(ctx context.Context, id string) error {
	n, err := o.endLinks(ctx, `id = ?`, id)
	if err == nil && n == 0 {
		err = ErrNoLink
	}
	return err
}

// expireLinks deletes the files of links whose time is over.
func (o *Outbox) expireLinks(now time.Time) {
	if _, err := o.endLinks(context.Background(), `expires <= ?`, nano(now)); err != nil {
		o.opts.Log.Error("delete files of links that expired", "error", err)
	}
}

// endLinks ends the links that match, some in each commit.
func (o *Outbox) endLinks(ctx context.Context, where string, arg any) (n int, err error) {
	for more := true; more && err == nil; {
		var some int
		some, err = o.endSomeLinks(ctx, where, arg)
		n, more = n+some, some == expireBatch
	}
	return n, err
}

// endSomeLinks ends some of the links that match, in three steps: mark the rows, delete the
// files, delete the rows. If the host dies between two steps, the next start continues.
// So no file is without a row, and no live row is without its file.
func (o *Outbox) endSomeLinks(ctx context.Context, where string, arg any) (n int, err error) {
	var names []string
	err = o.state.Do(ctx, func(t *state.Tx) (err error) {
		if names, err = scanNames(t.Query(`SELECT blob FROM link WHERE ended = 0 AND `+where+` ORDER BY id LIMIT ?`, arg, expireBatch)); err != nil || len(names) == 0 {
			return ofDatabase("end links", err)
		}
		if err := blob.Delete(t, names...); err != nil {
			return ofDatabase("end links", err)
		}
		_, err = t.Exec(`UPDATE link SET ended = 1 WHERE id IN (SELECT id FROM link WHERE ended = 0 AND `+where+` ORDER BY id LIMIT ?)`, arg, expireBatch)
		return ofDatabase("end links", err)
	}, nil)
	if err != nil || len(names) == 0 {
		return 0, err
	}
	if err := o.state.Blobs.Remove(names...); err != nil {
		o.opts.Log.Warn("the file of a link is deleted at the next start", "error", err)
		return len(names), nil
	}
	return len(names), o.forgetEnded(ctx, names)
}

// forgetEnded deletes the rows of links that have ended and have no files any more.
func (o *Outbox) forgetEnded(ctx context.Context, names []string) error {
	return o.state.Do(ctx, func(t *state.Tx) error {
		for _, name := range names {
			if _, err := t.Exec(`DELETE FROM link WHERE ended = 1 AND blob = ?`, name); err != nil {
				return ofDatabase("forget links", err)
			}
		}
		return nil
	}, nil)
}

// linkStands reports whether a part's link still works; true if the part has no link.
func linkStands(t *state.Tx, p *Part) (bool, error) {
	if p.Link == nil {
		return true, nil
	}
	found, err := scanNames(t.Query(`SELECT blob FROM link WHERE id = ? AND ended = 0 AND expires > ?`, p.Link.ID, nano(time.Now())))
	return len(found) > 0, ofDatabase("look for a link", err)
}

// endLinksOf ends the links of parts that were cancelled: nobody has their addresses.
func (o *Outbox) endLinksOf(ctx context.Context, it *item, cancelled []int) {
	for _, i := range cancelled {
		if l := it.Parts[i].Link; l != nil {
			if err := o.EndLink(ctx, l.ID); err != nil && !errors.Is(err, ErrNoLink) {
				o.opts.Log.Error("end the link of a cancelled message", "error", err)
			}
		}
	}
}

// checkLink checks a part's link and fills in what Put records of it.
func (it *item) checkLink(p *Part) error {
	if p.Link == nil {
		return nil
	}
	l := *p.Link
	f := &l.File
	if len(p.Files) > 0 || !blob.IsName(l.ID) || l.Expires.IsZero() || blob.IsName(f.Blob) == (f.Bytes != nil) || !blob.IsBlob(f.Blob) {
		return fmt.Errorf("delivery %s has a link that is not whole", it.Key)
	}
	if f.Bytes != nil {
		it.small = append(it.small, *f)
		f.Bytes = nil
	}
	p.Link = &l
	return nil
}

// AllFiles returns the files of a delivery, with those that are sent as links.
func (d *Delivery) AllFiles() (all []File) {
	for _, p := range d.Parts {
		all = append(all, p.Files...)
		if p.Link != nil {
			all = append(all, p.Link.File)
		}
	}
	return all
}
