package httpd

import (
	"errors"
	"net/http"

	"github.com/longshore-bridge/longshore/host/store"
)

// ErrDiskFull is the answer of every server to what the disk has no room for.
var ErrDiskFull = Refuse(http.StatusInsufficientStorage, "disk_full", "the host's disk is full", "ask the host's operator to free some space, then send it again")

// OrDiskFull returns ErrDiskFull if err comes from a full disk or database, else err.
func OrDiskFull(err error) error {
	if errors.Is(store.Words(err), store.ErrFull) {
		return ErrDiskFull
	}
	return err
}
