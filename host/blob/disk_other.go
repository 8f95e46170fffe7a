//go:build unix && !linux

package blob

import (
	"fmt"
	"os"
)

// stampOf can only use the modification time in portable form.
func stampOf(f *os.File) (stamp, error) {
	st, err := f.Stat()
	if err != nil {
		return stamp{}, fmt.Errorf("stat a file: %w", err)
	}
	return stamp{st.Size(), st.ModTime(), st.ModTime()}, nil
}

// Other systems have no leases.
func takeLease(*os.File) (granted, writer bool) { return false, false }

func dropLease(*os.File) {}

func reflink(_, _ *os.File, _ int64) (int64, error) { return 0, nil }

func copyRange(dst, src *os.File, at, n int64) (int64, error) { return copyPlain(dst, src, at, n) }

func startWriteback(*os.File, int64, int64) {}
