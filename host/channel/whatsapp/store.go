package whatsapp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.mau.fi/whatsmeow/store/sqlstore"
	"golang.org/x/sys/unix"
)

var errLocked = errors.New("whatsapp: another process uses the device: stop it first")

const storePragmas = "?_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(1)&_txlock=immediate"

func (s *session) openStore(ctx context.Context) error {
	if err := s.sweepTemp(); err != nil {
		return err
	}
	var err error
	if s.db, err = openDatabase(filepath.Join(s.w.opts.Dir, "whatsapp.db"), storePragmas); err != nil {
		return err
	}
	log := libraryLog{log: s.log}
	s.container = sqlstore.NewWithDB(s.db, "sqlite", log.Sub("Store"))
	if err := s.container.Upgrade(ctx); err != nil {
		return fmt.Errorf("open whatsapp store: %w", err)
	}
	if s.device, err = s.container.GetFirstDevice(ctx); err != nil {
		return fmt.Errorf("open whatsapp store: %w", err)
	}
	s.self, s.selfLID = s.device.GetJID(), s.device.GetLID()
	s.ledger, err = openLedger(ctx, s.w.opts.Dir)
	return err
}

func (s *session) sweepTemp() error {
	if err := makePrivate(s.tempDir()); err != nil {
		return err
	}
	left, err := os.ReadDir(s.tempDir())
	for _, e := range left { // a crash between creation and unlinking
		err = errors.Join(err, os.Remove(filepath.Join(s.tempDir(), e.Name())))
	}
	if err != nil {
		return fmt.Errorf("clear temporary files: %w", err)
	}
	return nil
}

func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make whatsapp store: %w", err)
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("make whatsapp store private: %w", err)
	}
	return nil
}

func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock whatsapp store: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock whatsapp store: %w", err)
	}
	return f, nil
}

// forgetDevice removes the keys of a device that the phone has removed. The
// library does so too, but tells of it first and may be closed in between.
func (s *session) forgetDevice(ctx context.Context) error {
	if _, err := s.db.ExecContext(context.WithoutCancel(ctx), `DELETE FROM whatsmeow_device`); err != nil {
		return fmt.Errorf("forget the device's keys: %w", err)
	}
	return nil
}
