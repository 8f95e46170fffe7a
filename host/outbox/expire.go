package outbox

import "time"

// expireBatch is how many records one commit forgets.
const expireBatch = 500

// kept is the bytes of a failed part.
type kept struct {
	delivery int64
	position int
	folder   string
	blob     string
	size     int64
}

const (
	keptOfFolder = `SELECT p.delivery, p.position, d.folder, p.blob, p.size FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.blob <> '' AND p.state NOT IN ('queued', 'sending') AND d.folder = ? ORDER BY p.delivery, p.position`

	keptOfDelivery = `SELECT p.delivery, p.position, d.folder, p.blob, p.size FROM part p JOIN delivery d ON d.id = p.delivery
		WHERE p.delivery = ? AND p.blob <> ''`
)

func scanKept(t *tx, query string, args ...any) ([]kept, error) {
	rows, err := t.query(query, args...)
	if err != nil {
		return nil, ofDatabase("read kept files", err)
	}
	defer rows.Close()
	var ks []kept
	for rows.Next() {
		var k kept
		if err := rows.Scan(&k.delivery, &k.position, &k.folder, &k.blob, &k.size); err != nil {
			return nil, ofDatabase("read kept files", err)
		}
		ks = append(ks, k)
	}
	return ks, ofDatabase("read kept files", rows.Err())
}

// expire forgets what was settled longer ago than Retention.
func (o *Outbox) expire(now time.Time) {
	for more := true; more; {
		var gone []kept
		err := o.commit.do(func(t *tx) error {
			gone, more = nil, false
			ids, err := scanIDs(t.query(`SELECT id FROM delivery WHERE open = 0 AND changed < ? ORDER BY changed LIMIT ?`,
				nano(now.Add(-o.opts.Retention)), expireBatch))
			more = len(ids) == expireBatch
			for _, id := range ids {
				ks, err := scanKept(t, keptOfDelivery, id)
				if err != nil {
					return err
				}
				gone = append(gone, ks...)
				if _, err := t.exec(`DELETE FROM part WHERE delivery = ?`, id); err != nil {
					return ofDatabase("forget deliveries", err)
				}
				if _, err := t.exec(`DELETE FROM delivery WHERE id = ?`, id); err != nil {
					return ofDatabase("forget deliveries", err)
				}
			}
			return err
		}, func() { o.release(gone) })
		if err != nil {
			o.opts.Log.Error("forget old deliveries", "error", err)
			return
		}
		o.removeKept(gone)
	}
}

// evict makes a group's failed files fit its quota again; the oldest go.
func (o *Outbox) evict(folder string) {
	o.mu.Lock()
	var over int64
	if u := o.usage[folder]; u != nil {
		over = u.retained - o.opts.QuotaBytes
	}
	o.mu.Unlock()
	if over <= 0 {
		return
	}
	var gone []kept
	err := o.commit.do(func(t *tx) error {
		left := over
		gone = nil
		ks, err := scanKept(t, keptOfFolder, folder)
		for _, k := range ks {
			if left <= 0 {
				break
			}
			left -= k.size
			gone = append(gone, k)
			if _, err := t.exec(`UPDATE part SET blob = '' WHERE delivery = ? AND position = ?`, k.delivery, k.position); err != nil {
				return ofDatabase("forget a failed file", err)
			}
		}
		return err
	}, func() { o.release(gone) })
	if err != nil {
		o.opts.Log.Error("forget failed files", "group", folder, "error", err)
		return
	}
	o.removeKept(gone)
}

// release discounts files that are kept no longer.
func (o *Outbox) release(gone []kept) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range gone {
		o.retain(k.folder, k.size, -1)
		if it := o.live[k.delivery]; it != nil {
			it.Parts[k.position] = it.Parts[k.position].withoutBlob()
		}
	}
}

func (o *Outbox) removeKept(gone []kept) {
	var names []string
	for _, k := range gone {
		names = append(names, k.blob)
	}
	o.removeBlobs(names)
}
