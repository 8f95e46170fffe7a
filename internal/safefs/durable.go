package safefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile makes data the content of the file at path, with exactly this mode,
// whether the file exists or not. A reader finds either the whole old content
// or the whole new one, and a power loss after the return keeps the new one.
// Meanwhile there is a file whose name begins with "." and ends with ".tmp"; a
// crash may leave it. Nobody else may be able to exchange names in the
// directory.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if err := replace(path, data, mode, true); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// PutFile is WriteFile without a sync: a power loss may leave no file, or one without its bytes.
func PutFile(path string, data []byte, mode fs.FileMode) error {
	return replace(path, data, mode, false)
}

func replace(path string, data []byte, mode fs.FileMode, synced bool) error {
	tmp, err := writeTemp(path, data, mode, synced)
	if err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

// WriteNew is WriteFile for a file that is written once. An existing file stays
// as it is, which is no error.
func WriteNew(path string, data []byte, mode fs.FileMode) error {
	tmp, err := writeTemp(path, data, mode, true)
	if err != nil {
		return err
	}
	err = os.Link(tmp, path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(tmp), SyncDir(filepath.Dir(path)))
}

// writeTemp writes a new file beside path.
func writeTemp(path string, data []byte, mode fs.FileMode, synced bool) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask is
	}
	if err == nil && synced {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(asDir(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
