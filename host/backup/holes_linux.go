package backup

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// dataFrom returns where the next data of f begin at at or behind it, and where they end. At
// the end of the file both are its size. A file system without holes says that all is data.
func dataFrom(f *os.File, at int64) (begin, end int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size := max(at, info.Size())
	begin, err = f.Seek(at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) { // a hole up to the end
		return size, size + 1, nil
	}
	if err == nil {
		end, err = f.Seek(begin, unix.SEEK_HOLE)
	}
	if err != nil || end <= begin {
		return at, size + 1, nil //nolint:nilerr // it is read as if it had no holes
	}
	return begin, end, nil
}
