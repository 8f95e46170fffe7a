package blob

import (
	"context"
	"io"
	"iter"
	"os"
	"strings"
)

// Marker is the name under which a place holds its mark: random text that the database has too.
// So a directory that is not mounted, or a bucket of another installation, is not taken for the
// place.
const Marker = "longshore-files"

// Place is where several hosts find the bytes of blobs: a directory that they share, or a bucket.
// It knows nothing but names. An error that is not fs.ErrNotExist is a *Trouble. The methods may be
// called concurrently, and return within a minute after the last byte has moved.
type Place interface {
	// Put stores the first size bytes of a file under a new name: durable and whole, or not at all.
	Put(ctx context.Context, name string, from *os.File, size int64) error
	// Copy stores what another name has under a new name, as Put does, without moving the bytes. If
	// it fails, the caller uses Put.
	Copy(ctx context.Context, from, name string) error
	// Get writes the bytes of a name. The error is fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string, to io.Writer) error
	// Remove deletes names. One that is not there is no error.
	Remove(ctx context.Context, names ...string) error
	// List yields all names. One that ends in .part is not whole: it is being written, or its
	// writer has died. See Whole.
	List(ctx context.Context) iter.Seq2[string, error]
	// Space returns the free bytes and how many the place has in all; 0, 0 if it has no bounds.
	Space(ctx context.Context) (free, total int64, err error)
	// String names the place as its configuration does. No other place has that name.
	String() string
}

// Whole returns the name under which an unfinished file of a place is to be stored, and another name
// as it is.
func Whole(name string) string {
	if stem, unfinished := strings.CutSuffix(name, partSuffix); unfinished {
		name, _, _ = strings.Cut(stem, ".")
	}
	return name
}

// Trouble is why a place cannot be used at the moment. It is temporary: the place comes back, or an
// operator acts. Error names neither the place nor a path, since assistants may see it.
type Trouble struct {
	Cause  string // for the operator
	Remedy string
	Err    error // the system's; may be nil
}

func (t *Trouble) Error() string {
	return "the store of the host's files cannot be used at the moment"
}

// Unwrap makes the system's error known to errors.Is.
func (t *Trouble) Unwrap() error { return t.Err }
