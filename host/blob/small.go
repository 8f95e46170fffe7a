package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/media"
)

// Small is how many bytes a blob may have to be kept in the database. Above it, a
// file of its own costs less than bytes that SQLite writes twice: into its log, and
// from there into the database.
const Small = 16 << 10

// Schema is the table of the small blobs' bytes, and those of a place, for the caller's schema. The ids
// grow, so that new bytes are written side by side. The space of deleted bytes is
// used again, and the database stays as large as it was when it held most.
const Schema = `
CREATE TABLE bytes (
	id   INTEGER PRIMARY KEY,
	data BLOB NOT NULL
);` + placeSchema

// Insert writes the bytes of a blob, if it is a small one, in the commit that names it.
func Insert(t *store.Tx, name string, data []byte) error {
	id, ok := rowOf(name)
	if !ok {
		return nil
	}
	return t.Exec(`INSERT INTO bytes (id, data) VALUES (?, ?)`, id, data)
}

// Delete deletes the bytes of the small ones among the blobs, in the commit after
// which no record names them. It notes that the others go, if they lie in a place.
func Delete(t *store.Tx, names ...string) error {
	s, _ := t.Files().(*Store)
	for _, name := range names {
		if id, ok := rowOf(name); ok {
			if err := t.Exec(`DELETE FROM bytes WHERE id = ?`, id); err != nil {
				return err
			}
		} else if s != nil && s.Shared() && IsName(name) {
			if _, err := noteGone(t, name, KeepGone); err != nil {
				return err
			}
		}
	}
	return nil
}

// UseRows makes the store keep small blobs in the database, which has Schema.
func (s *Store) UseRows(ctx context.Context, db *store.DB) (err error) {
	s.row, err = db.PrepareContext(ctx, `SELECT data FROM bytes WHERE id = ?`)
	return store.Words(err)
}

// small is the blob of a row.
type small struct{ *bytes.Reader }

func (small) Close() error { return nil }

// Content is a blob that is opened when it is needed.
type Content struct {
	store     *Store
	ctx       context.Context // of the attempt that may open it
	name, sum string
	size      int64
	bytes     []byte
}

// Content returns a blob's content, from bytes if these are not nil: they are not recorded yet. It
// can be opened until ctx is done.
func (s *Store) Content(ctx context.Context, name, sum string, size int64, bytes []byte) Content {
	return Content{s, ctx, name, sum, size, bytes}
}

// Open opens the blob, see [Store.Open].
func (c Content) Open() (io.ReadSeekCloser, error) {
	if c.bytes != nil {
		return small{bytes.NewReader(c.bytes)}, nil
	}
	return c.store.Open(c.ctx, c.name, c.sum, c.size)
}

func (s *Store) openRow(id int64) (io.ReadSeekCloser, error) {
	if s.row == nil {
		return nil, fs.ErrNotExist
	}
	var data []byte
	if err := s.row.QueryRow(id).Scan(&data); errors.Is(err, sql.ErrNoRows) {
		return nil, fs.ErrNotExist
	} else if err != nil {
		return nil, fmt.Errorf("read a kept file: %w", store.Words(err))
	}
	return small{bytes.NewReader(data)}, nil
}

// newSmall makes a small blob of data, which is the blob's from then on.
func (s *Store) newSmall(data []byte) Blob {
	now := time.Now().UnixNano()
	for last := s.last.Load(); ; last = s.last.Load() {
		if now = max(now, last+1); s.last.CompareAndSwap(last, now) {
			break
		}
	}
	sum := sha256.Sum256(data)
	return Blob{
		Name: fmt.Sprintf("%016x-%s", now, newName()[:16]), SHA256: hex.EncodeToString(sum[:]),
		Size: int64(len(data)), Head: data[:min(len(data), media.HeadSize)], Bytes: data,
	}
}

// rowOf returns the row of a small blob.
func rowOf(name string) (id int64, ok bool) {
	number, random, ok := strings.Cut(name, "-")
	if !ok || len(number) != 16 || !IsName(number+random) {
		return 0, false
	}
	id, err := strconv.ParseInt(number, 16, 64)
	return id, err == nil
}

// snapshotSmall is Snapshot of few bytes. Without a lease it reads them twice: if both
// are the same, the file was that between the two.
func (s *Store) snapshotSmall(f *os.File, before stamp, leased bool) (Blob, error) {
	data := make([]byte, before.size)
	reads := [][]byte{data}
	if !leased {
		reads = append(reads, make([]byte, before.size))
	}
	for _, buf := range reads {
		if n, err := f.ReadAt(buf, 0); n < len(buf) && !errors.Is(err, io.EOF) {
			return Blob{}, fmt.Errorf("keep a file: %w", err)
		}
	}
	if !bytes.Equal(data, reads[len(reads)-1]) {
		return Blob{}, ErrChanged
	}
	if err := unchanged(f, before); err != nil {
		return Blob{}, err
	}
	return s.newSmall(data), nil
}

// stageSmall reads the first bytes of r. If there are no more, the blob is a small
// one; if there are, all is a reader of everything.
func (s *Store) stageSmall(r io.Reader, limit int64) (b Blob, all io.Reader, err error) {
	most := min(limit, Small)
	data := make([]byte, most+1)
	n := 0
	for n < len(data) && err == nil {
		var m int
		m, err = r.Read(data[n:])
		n += m
	}
	switch {
	case n == len(data) && limit == most:
		return b, nil, ErrTooLarge
	case n == len(data): // an error beside its last bytes is an error of the next Read
		return b, io.MultiReader(bytes.NewReader(data), failing{err}, r), nil
	case err == io.EOF: //nolint:errorlint // a wrapped one, and io.ErrUnexpectedEOF, are of a source that was cut
		return s.newSmall(data[:n:n]), nil, nil
	}
	return b, nil, err
}

// failing is a reader that ends with an error, or with none.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
