package audit

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Writer is a transaction that is written.
type Writer interface {
	Reader
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ToRows replaces the rows of the trail by the lines in the files of a directory, and returns how many there
// are. Without files, the rows stay.
func ToRows(ctx context.Context, dir string, tx Writer) (n int64, err error) {
	all, err := files(dir)
	if err == nil && len(all) == 0 {
		err = tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM audit_entry`).Scan(&n)
		return n, err
	}
	if err != nil {
		return 0, err
	}
	if err := deleteRows(ctx, tx); err != nil {
		return 0, err
	}
	t := Files(dir)
	if key := t.maskKey(); key != nil {
		if _, err := tx.ExecContext(ctx, `INSERT INTO audit_key (id, key) VALUES (1, ?)`, key); err != nil {
			return 0, fmt.Errorf("copy the audit trail: %w", err)
		}
	}
	err = walk(ctx, t, func(line []byte, at place) error {
		e, _ := parse(line) // a line that is broken stays so, and Verify names it
		n = max(n+1, e.Number)
		_, err := tx.ExecContext(ctx, `INSERT INTO audit_entry (n, time, event, delivery, line) VALUES (?, ?, ?, ?, ?)`,
			n, e.Time.UnixNano(), e.Event, e.Delivery, string(bytes.TrimSuffix(line, []byte("\n"))))
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", at.file, at.line, err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, same(ctx, t, Rows(tx))
}

// ToFiles copies the rows of the trail into files of a directory, which it makes, and deletes the rows. If
// there are none, it makes nothing.
func ToFiles(ctx context.Context, tx Writer, dir string) (n int64, err error) {
	t := Rows(tx)
	key := t.maskKey()
	if key == nil {
		return 0, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return 0, fmt.Errorf("copy the audit trail: %w", err)
	}
	k := &fileKeeper{dir: dir, most: maxFile, log: slog.New(slog.DiscardHandler)}
	err = safefs.WriteNew(filepath.Join(dir, "key"), key, 0o600)
	if err == nil {
		err = walk(ctx, t, func(line []byte, at place) error {
			n++
			return k.append(int64(at.line), line)
		})
	}
	if err == nil && k.file != nil {
		err = k.sync()
	}
	if err = errors.Join(err, k.Close()); err == nil {
		err = same(ctx, t, Files(dir))
	}
	if err == nil {
		err = deleteRows(ctx, tx)
	}
	if err != nil {
		return 0, errors.Join(err, os.RemoveAll(dir))
	}
	return n, nil
}

func deleteRows(ctx context.Context, tx Writer) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM audit_entry`)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM audit_key`)
	}
	return err
}

// same compares the lines and the keys of two trails.
func same(ctx context.Context, a, b Trail) error {
	one, err := digest(ctx, a)
	if err != nil {
		return err
	}
	other, err := digest(ctx, b)
	if err == nil && (one != other || !bytes.Equal(a.maskKey(), b.maskKey())) {
		err = errors.New("the audit trail is not as it was copied")
	}
	return err
}
