package records

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/state"
)

// Link is the address of a file that is too large for its chat; members fetch the file
// from the host. The link's row and the delivery whose text has the address are recorded
// in one commit. The bytes outlive the delivery: they stay until Expires, or until
// it is ended.
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

// insertLink records the link of a delivery's part.
func insertLink(t *state.Tx, d *Delivery, l *Link) error {
	file, err := json.Marshal(l.stored().File)
	if err != nil {
		return err
	}
	err = t.Exec(`INSERT INTO link (id, key, folder, channel, chat, file, size, blob, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, d.Key, d.Folder, d.Channel, string(d.Chat), string(file), l.File.Size, l.File.Blob, nano(d.Created), nano(l.Expires))
	return ofDatabase("record a link", err)
}

// unlink ends the link of a message that is about to be deleted, even if the platform then
// refuses the deletion. The next sweep deletes the file.
func unlink(t *state.Tx, chat groups.Address, message string) error {
	rows, err := t.Query(`SELECT p.act FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.receipt = ? AND p.receipt <> '' AND d.channel = ? AND d.chat = ? AND p.act LIKE '{"link"%'`, message, chat.Channel, string(chat.JID))
	var ids []string
	err = state.Each(rows, err, func() error {
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
		err = t.Exec(`UPDATE link SET expires = 0 WHERE id = ?`, ids[i])
	}
	return ofDatabase("end a link", err)
}

const selectLinks = `SELECT id, folder, channel, chat, file, blob, made, expires FROM link WHERE ended = 0 `

func scanLinks(rows *sql.Rows, err error) (all []KeptLink, _ error) {
	err = state.Each(rows, err, func() error {
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

// notApproved is the condition of a link whose delivery has no yes that it needs, for SQL.
const notApproved = `EXISTS (SELECT 1 FROM delivery d JOIN ask a ON a.delivery = d.id WHERE d.key = link.key AND a.policy = 'approval' AND a.answer <> 'yes')`

// Links returns the links of a group, or of all if folder is empty, that have not expired,
// the oldest first.
func (r *Reader) Links(ctx context.Context, folder string) ([]KeptLink, error) {
	return scanLinks(r.db.QueryContext(ctx, selectLinks+`AND expires > ?1 AND (?2 = '' OR folder = ?2) ORDER BY made, id`, nano(time.Now()), folder))
}

// Link returns a link, whose delivery may wait for an approval. ErrNoLink: it has expired, or was revoked.
func (r *Reader) Link(ctx context.Context, id string) (Link, error) { return r.link(ctx, id, "") }

// OpenLink returns a link whose delivery waits for no approval. Error: ErrNoLink.
func (r *Reader) OpenLink(ctx context.Context, id string) (Link, error) {
	return r.link(ctx, id, ` AND NOT `+notApproved)
}

// link returns a link for which a condition holds.
func (r *Reader) link(ctx context.Context, id, and string) (Link, error) {
	found, err := scanLinks(r.db.QueryContext(ctx, selectLinks+`AND id = ? AND expires > ?`+and, id, nano(time.Now())))
	if err == nil && len(found) == 0 {
		err = ErrNoLink
	}
	if err != nil {
		return Link{}, err
	}
	return found[0].Link, nil
}

// LinkBytes returns the bytes of the files behind a group's links.
func (r *Reader) LinkBytes(ctx context.Context, folder string) (used int64, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT coalesce(sum(size), 0) FROM link WHERE folder = ? AND ended = 0`, folder).Scan(&used)
	return used, ofDatabase("count links", err)
}

// LinksUsed returns the bytes of the files behind each group's links, by folder.
func (r *Reader) LinksUsed(ctx context.Context) (map[string]int64, error) {
	used := map[string]int64{}
	rows, err := r.db.QueryContext(ctx, `SELECT folder, sum(size) FROM link WHERE ended = 0 GROUP BY folder`)
	err = state.Each(rows, err, func() error {
		var folder string
		var size int64
		err := rows.Scan(&folder, &size)
		used[folder] = size
		return err
	})
	return used, ofDatabase("count links", err)
}

// EndLink marks a link as ended, and returns the name of its file; none: there is no such link.
func EndLink(t *state.Tx, id string) ([]string, error) { return endLinks(t, `id = ?`, id) }

// ExpireLinks marks links as ended whose time is over, at most Batch, and returns the names of their files.
func ExpireLinks(t *state.Tx, now time.Time) ([]string, error) {
	return endLinks(t, `expires <= ?`, nano(now))
}

// endLinks marks some of the links that match.
func endLinks(t *state.Tx, where string, arg any) ([]string, error) {
	names, err := scanNames(t.Query(`SELECT blob FROM link WHERE ended = 0 AND `+where+` ORDER BY id LIMIT ?`, arg, Batch))
	if err == nil && len(names) > 0 {
		if err = blob.Delete(t, names...); err == nil {
			err = t.Exec(`UPDATE link SET ended = 1 WHERE id IN (SELECT id FROM link WHERE ended = 0 AND `+where+` ORDER BY id LIMIT ?)`, arg, Batch)
		}
	}
	return names, ofDatabase("end links", err)
}

// EndedLinks returns the names of the files behind links that have ended.
func (r *Reader) EndedLinks(ctx context.Context) ([]string, error) {
	names, err := scanNames(r.db.QueryContext(ctx, `SELECT blob FROM link WHERE ended = 1`))
	return names, ofDatabase("read links", err)
}

// ForgetLinks deletes the rows of links that have ended and have no files any more.
func ForgetLinks(t *state.Tx, names []string) error {
	for _, name := range names {
		if err := t.Exec(`DELETE FROM link WHERE ended = 1 AND blob = ?`, name); err != nil {
			return ofDatabase("forget links", err)
		}
	}
	return nil
}

// linkStands reports whether a part's link still works; true if the part has no link.
func linkStands(t *state.Tx, p *Part) (bool, error) {
	if p.Link == nil {
		return true, nil
	}
	found, err := scanNames(t.Query(`SELECT blob FROM link WHERE id = ? AND ended = 0 AND expires > ?`, p.Link.ID, nano(time.Now())))
	return len(found) > 0, ofDatabase("look for a link", err)
}
